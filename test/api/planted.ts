import { join } from "node:path"
import { serveBy } from "../service.ts"

// Loaded before a scenario, this has it start the service with a planted fault:
// --import=planted.ts?forgets%20projects

const fault = decodeURIComponent(new URL(import.meta.url).search.slice(1))
serveBy(join(import.meta.dirname, "..", "crash", "faults.ts"), fault)
