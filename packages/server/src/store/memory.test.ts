import { storeContract } from "./contract.ts"
import { openMemory } from "./memory.ts"

storeContract("memory", async () => {
  const { served, watched } = openMemory()
  return { served, watched, close: () => served.close() }
})
