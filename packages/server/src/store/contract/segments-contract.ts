// The tests that every driver's segments must pass.

import { strict as assert } from "node:assert"
import { storiesOf } from "./stories.ts"
import { write } from "./written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import { lastOf } from "../search/segment-plan.ts"
import type { SegmentName, SegmentParts } from "../search/segments.ts"
import type { FilingStore, Store } from "../store.ts"

export interface OpenedFiling {
  readonly served: Store
  readonly filing: FilingStore
  /** Closes, and opens the same data again; absent where nothing outlives the store. */
  readonly reopen?: () => Promise<OpenedFiling>
  readonly close: () => Promise<void>
}

/** A header must end with its hash. Parts have no other requirements here. */
function partsOf(text: string): SegmentParts {
  const header = Buffer.from(`a header of 32 bytes or more: ${text.padEnd(32)}`)
  return [header, Buffer.from(text), new Uint8Array(), Buffer.alloc(100_000, text)]
}

async function textsOf({ filing: { segments } }: OpenedFiling, workspace: string) {
  const kept: [SegmentName, string][] = []
  for (const { level, k, hash, bytes } of await segments.list(workspace)) {
    const text = await segments.part(workspace, { level, k }, 1)
    const parts = partsOf(Buffer.from(text ?? []).toString())
    for (const part of parts.keys())
      assert.deepEqual(
        Buffer.from((await segments.part(workspace, { level, k }, part)) ?? []),
        Buffer.from(parts[part] ?? []),
      )
    assert.equal(await segments.part(workspace, { level, k }, parts.length), undefined)
    assert.equal(
      hash,
      Buffer.from(parts[0] ?? [])
        .subarray(-32)
        .toString("hex"),
    )
    assert.equal(
      bytes,
      parts.reduce((sum, { length }) => sum + length, 0),
    )
    kept.push([{ level, k }, Buffer.from(text ?? []).toString()])
  }
  return kept
}

const small = (k: number): SegmentName => ({ level: 0, k })
const large: SegmentName = { level: 1, k: 0 }

export function segmentsContract(name: string, open: () => Promise<OpenedFiling>): void {
  const story = storiesOf(name, open)

  story("stored segments are read back, separately for each workspace", async (store) => {
    const { segments } = store.filing
    assert.deepEqual(await segments.list("acme"), [])
    assert.equal(await segments.part("acme", small(0), 0), undefined)
    for (const workspace of ["acme", "other"]) await writeTo(store, workspace, lastOf(small(1)))
    await segments.put("acme", small(0), partsOf("first"), [])
    await segments.put("other", small(0), partsOf("another"), [])
    await segments.put("acme", small(1), partsOf("second"), [])
    const again = (await store.reopen?.()) ?? store
    assert.deepEqual(await textsOf(again, "acme"), [
      [small(0), "first"],
      [small(1), "second"],
    ])
    assert.deepEqual(await textsOf(again, "other"), [[small(0), "another"]])
    assert.deepEqual(await textsOf(again, "nobody"), [])
    return again
  })

  story("a segment replaces those that it absorbs, and its former version", async (store) => {
    const { segments } = store.filing
    await writeTo(store, "acme", lastOf(large))
    await writeTo(store, "other", lastOf(small(0)))
    const absorbed = Array.from({ length: 16 }, (_, k) => small(k))
    for (const one of absorbed) await segments.put("acme", one, partsOf(`part ${one.k}`), [])
    await segments.put("other", small(0), partsOf("another"), [])
    // A process that died after the first one repeats it.
    for (const _ of [1, 2]) {
      await segments.put("acme", large, partsOf("all of it"), absorbed)
      assert.deepEqual(await textsOf(store, "acme"), [[large, "all of it"]])
    }
    assert.equal(await segments.part("acme", small(3), 0), undefined)
    const more = [...partsOf("more of it"), Buffer.from("and more")]
    await segments.put("acme", large, more, [])
    assert.equal((await segments.part("acme", large, 4))?.length, more[4]?.length)
    await segments.put("acme", large, partsOf("less of it"), [])
    assert.deepEqual(await textsOf(store, "acme"), [[large, "less of it"]])
    assert.deepEqual(await textsOf(store, "other"), [[small(0), "another"]])
    await expectChain(store.served.journal, "acme")
  })

  story(
    "a large segment is stored in pieces, and can be read only once it is complete",
    async (store) => {
      const { segments } = store.filing
      await writeTo(store, "acme", lastOf(large))
      const absorbed = [small(0), small(1)]
      for (const one of absorbed) await segments.put("acme", one, partsOf(`part ${one.k}`), [])
      const [header = new Uint8Array(), ...parts] = partsOf("all of it")
      await segments.stage("acme", large, 1, parts.slice(0, 2))
      await segments.stage("acme", large, 3, parts.slice(2))
      // A process that died after the last one repeats it.
      await segments.stage("acme", large, 3, parts.slice(2))
      const names = absorbed.map((one) => [one, `part ${one.k}`])
      assert.deepEqual(await textsOf(store, "acme"), names)
      const bytes = parts.reduce((sum, { length }) => sum + length, 0)
      const missing = { count: parts.length + 1, bytes }
      await assert.rejects(segments.put("acme", large, [header], absorbed, missing))
      assert.deepEqual(await textsOf(store, "acme"), names)
      const staged = { count: parts.length, bytes }
      await segments.put("acme", large, [header], absorbed, staged)
      assert.deepEqual(await textsOf(store, "acme"), [[large, "all of it"]])
      await assert.rejects(segments.stage("acme", large, 1, parts))
      while (await segments.sweep("acme")) continue
      for (const one of absorbed) assert.equal(await segments.part("acme", one, 1), undefined)
      assert.deepEqual(await textsOf(store, "acme"), [[large, "all of it"]])
      assert.deepEqual(await store.filing.segments.sweep("other"), false)
      await expectChain(store.served.journal, "acme")
    },
  )

  story("stored pieces of an incomplete segment can be removed", async (store) => {
    const { segments } = store.filing
    await writeTo(store, "acme", lastOf(large))
    const parts = Array.from({ length: 100 }, (_, at) => Buffer.from(`part ${at}`))
    await segments.stage("acme", large, 1, parts)
    const again = (await store.reopen?.()) ?? store
    assert.deepEqual(await textsOf(again, "acme"), [])
    while (await again.filing.segments.sweep("acme")) continue
    for (const at of [1, 64, 65, 100])
      assert.equal(await again.filing.segments.part("acme", large, at), undefined)
    await again.filing.segments.put("acme", large, partsOf("all of it"), [])
    assert.deepEqual(await textsOf(again, "acme"), [[large, "all of it"]])
    return again
  })

  story("segments are listed in the order of their entries", async (store) => {
    const { segments } = store.filing
    await writeTo(store, "acme", lastOf(large) + lastOf(small(1)))
    for (const one of [small(17), large, small(16)])
      await segments.put("acme", one, partsOf(`${one.level} ${one.k}`), [])
    const names = (await segments.list("acme")).map(({ level, k }) => ({ level, k }))
    assert.deepEqual(names, [large, small(16), small(17)])
  })
}

async function writeTo({ served }: OpenedFiling, workspace: string, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `-${workspace} ${at}`)
  await write(served, workspace, names)
}
