// The tests that every driver's registry must pass.

import { strict as assert } from "node:assert"
import { delay } from "../../clock.ts"
import { expectChain } from "../expect-chain.ts"
import type { Change, ListPlace } from "../documents.ts"
import type { Outcome } from "../entries.ts"
import type { Store } from "../store.ts"
import { storiesOf, type Open, type OpenedStore } from "./stories.ts"
import {
  apiKey,
  entriesAfter,
  genesisOf,
  project,
  workspaceNamed,
  write,
} from "./written-entries.ts"

export function registryContract(name: string, open: Open): void {
  const story = storiesOf(name, open)

  story(
    "a document is replaced only at its named version, and the change is visible at once, or to others within staleMsMax",
    async ({ served, watched }) => {
      const registries = [served.registry, watched.registry]
      for (const { staleMsMax } of registries)
        assert.ok(staleMsMax >= 0 && staleMsMax <= 60_000, `${staleMsMax} ms are no bound`)
      for (const registry of registries) {
        assert.equal(await registry.get("project", "acme", "p"), undefined)
      }
      await write(served, "acme", ["a"], [project("p", 0, "one")])
      for (const registry of registries) {
        await delay(registry === served.registry ? 0 : registry.staleMsMax)
        const found = await registry.get("project", "acme", "p")
        assert.deepEqual(
          [found?.kind, found?.workspace, found?.id, found?.version, found?.value.name],
          ["project", "acme", "p", 1, "one"],
        )
        assert.equal(await registry.get("project", "other", "p"), undefined)
        assert.equal(await registry.get("workspace", "acme", "p"), undefined)
      }
      const created = (await served.registry.get("project", "acme", "p"))?.created
      await write(served, "acme", ["b"], [project("p", 1, "two")])
      for (const registry of registries) {
        await delay(registry === served.registry ? 0 : registry.staleMsMax)
        const found = await registry.get("project", "acme", "p")
        assert.deepEqual([found?.version, found?.value.name, found?.created], [2, "two", created])
      }
      for (const version of [0, 1, 3])
        assert.deepEqual(await change(served, "acme", [project("p", version, "lost")]), {
          kind: "conflict",
          place: 0,
        })

      await write(served, "acme", ["c"], [project("p", 2, null)])
      for (const registry of registries) {
        await delay(registry === served.registry ? 0 : registry.staleMsMax)
        assert.equal(await registry.get("project", "acme", "p"), undefined)
      }
      assert.deepEqual(await change(served, "acme", [project("p", 2, "lost")]), {
        kind: "conflict",
        place: 0,
      })
      await write(served, "acme", ["d"], [project("p", 0, "anew")])
      const anew = await served.registry.get("project", "acme", "p")
      assert.deepEqual([anew?.version, (anew?.created ?? 0) > (created ?? 0)], [1, true])
      assert.equal((await expectChain(served.journal, "acme")).size, 4)
    },
  )

  story("the workspace of a credential is found by its id alone", async (store) => {
    await write(store.served, "acme", ["a"], [apiKey("k1", 0), project("k3", 0, "no credential")])
    await write(store.served, "other", ["a"], [apiKey("k2", 0)])
    const again = (await store.reopen?.()) ?? store
    for (const { registry } of [again.served, again.watched]) {
      const found = ["k1", "k2", "k3"].map((id) => registry.workspaceOf("api-key", id))
      assert.deepEqual(await Promise.all(found), ["acme", "other", undefined])
      assert.equal(await registry.workspaceOf("token", "k1"), undefined)
    }
    for (const workspace of ["acme", "other"]) await expectChain(again.served.journal, workspace)
    return again
  })

  story(
    "two changes of one document in a group conflict, and neither is made",
    async ({ served }) => {
      const made = [project("q", 0, "q"), project("p", 0, "mine"), project("p", 0, "yours")]
      assert.deepEqual(await change(served, "acme", made), { kind: "conflict", place: 2 })
      assert.equal(await served.registry.get("project", "acme", "p"), undefined)
      assert.equal(await served.registry.get("project", "acme", "q"), undefined)
      await write(served, "acme", ["a"], made.slice(0, 2))
      const twice = [project("p", 1, "second"), project("p", 1, "also second")]
      assert.deepEqual(await change(served, "acme", twice), { kind: "conflict", place: 1 })
      // A change that builds on an earlier one is no conflict.
      await write(
        served,
        "acme",
        ["b"],
        [project("p", 1, "second"), project("p", 2, "third"), project("q", 1, null)],
      )
      const found = await served.registry.get("project", "acme", "p")
      assert.deepEqual([found?.version, found?.value.name], [3, "third"])
      assert.equal(await served.registry.get("project", "acme", "q"), undefined)
      assert.equal((await expectChain(served.journal, "acme")).size, 2)
    },
  )

  story(
    "a list has the number of a pack's entries, and not their sequences",
    async ({ served }) => {
      const sequences = Array.from({ length: 10_000 }, (_, at) => at + 1)
      const about = {
        title: "T",
        createdAt: "2026-01-01T00:00:00.000Z",
        projectIds: ["p"],
        checkpoint: "signed",
        packHash: "00",
        form: 2,
      }
      const value = { ...about, sequences, policies: [{ projectId: "p", version: 1 }] }
      await write(served, "acme", ["a"], [{ kind: "pack", id: "pack_1", version: 0, value }])
      const [listed] = await served.registry.list("pack", "acme", undefined, 10)
      assert.deepEqual(listed?.value, { ...about, receiptCount: sequences.length })
      assert.deepEqual((await served.registry.get("pack", "acme", "pack_1"))?.value, value)
      await expectChain(served.journal, "acme")
    },
  )

  story("workspaces are listed by creation time, and by id if that is equal", async (store) => {
    const { served } = store
    // Entries of a chain are a millisecond apart, and every chain begins at the same time.
    await write(served, "late", ["a", "b"])
    for (const id of ["b", "late", "c", "a"])
      await write(served, id, [`made ${id}`], [workspaceNamed(id), project(`of-${id}`, 0, id)])
    const again = (await store.reopen?.()) ?? store
    const { registry } = again.served
    assert.deepEqual(await pagesOf((before) => registry.list("workspace", undefined, before, 1)), [
      "late",
      "c",
      "b",
      "a",
    ])
    for (const id of ["late", "a", "b", "c"]) await expectChain(again.served.journal, id)
    return again
  })

  story("lists are newest first, page by page", async (store) => {
    for (let count = 1; count <= 7; count++) {
      const workspace = count % 3 === 0 ? "other" : "acme"
      await write(
        store.served,
        workspace,
        [`${count}`],
        [project(`p${count}`, 0, "p"), apiKey(`k${count}`, 0)],
      )
    }
    await write(
      store.served,
      "acme",
      ["change"],
      [project("p2", 1, "changed"), project("p4", 1, null)],
    )
    // The last document of a commit is the newest, independent of its name.
    const together = ["q2", "q3", "q1"].map((id) => project(id, 0, "together"))
    await write(store.served, "acme", ["together"], together)
    const pages = ({ served: { registry } }: OpenedStore, workspace: string) =>
      pagesOf((before) => registry.list("project", workspace, before, 2))
    const again = (await store.reopen?.()) ?? store
    assert.deepEqual(await pages(again, "acme"), ["q1", "q3", "q2", "p7", "p5", "p2", "p1"])
    assert.deepEqual(await pages(again, "other"), ["p6", "p3"])
    assert.deepEqual(await pages(again, "nobody"), [])
    const counts = ["acme", "other", "nobody"].map((workspace) =>
      again.served.registry.count("project", workspace),
    )
    assert.deepEqual(await Promise.all(counts), [7, 2, 0])
    await expectChain(again.served.journal, "acme")
    await expectChain(again.served.journal, "other")
    return again
  })
}

/** The ids of a list that is read page by page. The next page begins after the last item. */
async function pagesOf(
  read: (before: ListPlace | undefined) => Promise<readonly ListPlace[]>,
): Promise<readonly string[]> {
  const ids: string[] = []
  for (let before: ListPlace | undefined; ;) {
    const page = await read(before && { created: before.created, id: before.id })
    ids.push(...page.map(({ id }) => id))
    before = page.at(-1)
    if (before === undefined) return ids
  }
}

async function change(
  store: Store,
  workspace: string,
  changes: readonly Change[],
): Promise<Outcome> {
  const from = (await store.journal.head(workspace)) ?? genesisOf(workspace)
  const { entries } = entriesAfter(workspace, from, [`change ${from.sequence}`])
  return store.journal.append({ workspace, from, entries, changes })
}
