import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { askOperations } from "./schemathesis.ts"

test("schemathesis asks all operations", async (t) => {
  await askOperations(t, { share: 100, chance: createChance(seedOf(t)) })
})
