import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { makeDisk, noDisk } from "./disks.ts"
import { endAgainAndAgain } from "./endings.ts"
import { skipUnlessStrict } from "./strict.ts"
import { lieAboutSyncs, noTracer } from "./tracer.ts"

// Promise 2: no acknowledged event is lost by power loss. `npm run test:deep` cuts it 1,000 times.

// The second file system is for comparison, so it is not required.
for (const [kind, endings, skip] of [
  ["ext4", 8, skipUnlessStrict(noDisk("ext4"))],
  ["xfs", 3, noDisk("xfs")],
] as const) {
  test(
    `what was acknowledged survives ${2 * endings} power cuts on ${kind}`,
    { skip },
    async (t) => {
      const chance = createChance(seedOf(t))
      // Two side by side, because most of a round is a start, which keeps one core busy.
      const runs = await Promise.all(
        [1, 2].map(async () => {
          using disk = makeDisk(kind)
          return await endAgainAndAgain({ endings, signal: "SIGKILL", clients: 16, chance, disk })
        }),
      )
      for (const ended of runs) {
        t.diagnostic(JSON.stringify(ended))
        const { acknowledged, retried, lookedUp, sentAgain } = ended
        assert.ok(
          ended.endings === endings && acknowledged >= 5 * endings && retried >= 5 * endings,
          "there was not enough to lose",
        )
        assert.ok(
          lookedUp === acknowledged && sentAgain === acknowledged,
          "not everything was looked for",
        )
      }
    },
  )
}

test(
  "canary: a journal that is not synced is detected",
  { skip: skipUnlessStrict(noDisk("ext4") ?? noTracer()) },
  async (t) => {
    using disk = makeDisk("ext4")
    const run = endAgainAndAgain({
      endings: 5,
      signal: "SIGKILL",
      clients: 16,
      chance: createChance(seedOf(t)),
      disk,
      beside: ({ process, data }) =>
        lieAboutSyncs(
          process.pid ?? 0,
          ["journal.db", "journal.db-wal"].map((file) => join(data, file)),
        ),
    })
    // If a lost entry was signed, the start itself reports it.
    const found =
      /was acknowledged, and (its entry is lost|is answered differently now|is said to be new)|the data is older than what was signed/
    await assert.rejects(run, found)
  },
)
