import { storeContract } from "./contract.ts"
import { openMemory } from "./memory.ts"
import { searchContract } from "./search-contract.ts"

storeContract("memory", async () => {
  const { served, watched } = openMemory()
  return { served, watched, close: () => served.close() }
})

searchContract("memory", async () => {
  const { served, filing } = openMemory()
  return { served, filing, close: () => served.close() }
})
