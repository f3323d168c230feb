import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { askOperations } from "./schemathesis.ts"

// `npm run test:deep` asks all operations.

test("schemathesis finds no answer that the description leaves out", async (t) => {
  await askOperations(t, { share: 30, chance: createChance(seedOf(t)) })
})
