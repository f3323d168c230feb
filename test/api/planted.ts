import { faultyProgram } from "../program.ts"
import { serveBy } from "../service.ts"

// Loaded before a scenario, this has it start the service with a planted fault:
// --import=planted.ts?forgets%20projects

const fault = decodeURIComponent(new URL(import.meta.url).search.slice(1))
serveBy(faultyProgram, fault)
