import { contentContract } from "./contract/content-contract.ts"
import { indexContract } from "./contract/index-contract.ts"
import { journalContract } from "./contract/journal-contract.ts"
import { registryContract } from "./contract/registry-contract.ts"
import { openMemory } from "./memory.ts"
import { segmentsContract } from "./contract/segments-contract.ts"

for (const contract of [journalContract, registryContract, indexContract]) {
  contract("memory", async () => {
    const { served, watched } = openMemory()
    return { served, watched, close: () => served.close() }
  })
}

for (const contract of [segmentsContract, contentContract])
  contract("memory", async () => {
    const { served, filing } = openMemory()
    return { served, filing, close: () => served.close() }
  })
