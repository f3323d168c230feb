import assert from "node:assert/strict"
import test from "node:test"
import {
  formatDestroyed,
  readDestroyed,
  type Destroyed,
  type Json,
  type SequenceRange,
} from "@tallystick/proof"
import {
  blockSequences,
  destroyedChanges,
  inBlocks,
  readGone,
  withDestroyed,
  type Gone,
} from "../store/destroyed.ts"
import type { DestroyedDocument, Document } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import { createChance, seedOf, type Chance } from "../../../../test/chance.ts"

type Values = Map<string, DestroyedDocument>

/** A registry of documents of this kind alone. */
function registryOf(values: Values): Pick<Registry, "get"> {
  return {
    async get(kind, workspace, id) {
      const value = values.get(id)
      const place = { kind, workspace, id, version: 1, created: 1 }
      // Only documents of the kind `destroyed` are asked for.
      return value && ({ ...place, value } as unknown as Document<typeof kind>)
    },
  }
}

async function record(values: Values, destroyed: Destroyed, by: string): Promise<void> {
  for (const { id, value } of await destroyedChanges(registryOf(values), "acme", destroyed, by))
    // They are the changes of documents of this kind, and none removes one.
    values.set(id, value as DestroyedDocument)
}

function randomDestroyed(chance: Chance, last: number): Destroyed {
  const bodies: SequenceRange[] = []
  const why = chance.below(2) === 0 ? "expired" : "erased"
  for (let at = 1 + chance.below(200); at < last; at += 1 + chance.below(900)) {
    const end = Math.min(last, at + chance.below(chance.below(4) === 0 ? 1500 : 4))
    bodies.push({ first: at, last: end })
    at = end + 1
  }
  const fields = []
  for (let at = 1 + chance.below(50); why === "erased" && at < last; at += 1 + chance.below(400))
    fields.push({ sequence: at, digests: [`${at}-${chance.below(3)}`] })
  return { why, bodies, fields }
}

test("after destruction in any order, the destroyed content of each entry is known", async (t) => {
  const chance = createChance(seedOf(t))
  for (let round = 0; round < 20; round++) {
    const last = 1 + chance.below(4 * blockSequences)
    const values: Values = new Map()
    const bodies = new Map<number, string>()
    const fields = new Map<number, Set<string>>()
    for (let by = 0; by < 1 + chance.below(6); by++) {
      const destroyed = randomDestroyed(chance, last)
      await record(values, destroyed, `${by}`)
      for (const { first, last: end } of destroyed.bodies)
        for (let at = first; at <= end; at++)
          if (!bodies.has(at)) bodies.set(at, `${destroyed.why} ${by}`)
      for (const { sequence, digests } of destroyed.fields)
        fields.set(sequence, new Set([...(fields.get(sequence) ?? []), ...digests]))
    }
    const sequences = Array.from({ length: last }, (_, at) => at + 1)
    const goneAt = await readGone(registryOf(values), "acme", sequences)
    for (const sequence of sequences)
      assert.deepEqual(
        said(goneAt(sequence)),
        bodies.get(sequence) ?? fields.get(sequence),
        `round ${round}, entry ${sequence}`,
      )
    for (const value of values.values()) assertOrdered(value)
  }
})

function said(gone: Gone | undefined): string | ReadonlySet<string> | undefined {
  if (gone?.what === "body") return `${gone.why} ${gone.by}`
  return gone?.digests
}

function assertOrdered({ bodies }: DestroyedDocument): void {
  for (const [at, { first, last }] of bodies.entries()) {
    assert.ok(first <= last && first > (bodies[at - 1]?.last ?? 0))
  }
}

test("adjacent ranges of one entry are merged, and those of two entries are not", () => {
  const once = withDestroyed(undefined, expired([{ first: 1, last: 5 }]), "a")
  const twice = withDestroyed(once, expired([{ first: 6, last: 9 }]), "a")
  assert.deepEqual(twice.bodies, [{ first: 1, last: 9, why: "expired", by: "a" }])
  const thrice = withDestroyed(twice, expired([{ first: 4, last: 12 }]), "b")
  assert.deepEqual(
    thrice.bodies.map(({ first, last, by }) => [first, last, by]),
    [
      [1, 9, "a"],
      [10, 12, "b"],
    ],
  )
})

test("a range across blocks is in the document of each", () => {
  const parts = inBlocks(expired([{ first: blockSequences, last: 2 * blockSequences + 1 }]))
  assert.deepEqual(
    [...parts].map(([id, { bodies }]) => [Number(id), ...bodies]),
    [
      [0, { first: blockSequences, last: blockSequences }],
      [1, { first: blockSequences + 1, last: 2 * blockSequences }],
      [2, { first: 2 * blockSequences + 1, last: 2 * blockSequences + 1 }],
    ],
  )
})

test("an entry records what it destroys, and a malformed record explains nothing", () => {
  const erased: Destroyed = {
    why: "erased",
    bodies: [
      { first: 2, last: 3 },
      { first: 5, last: 5 },
    ],
    fields: [{ sequence: 4, digests: ["x"] }],
  }
  const metadata = formatDestroyed(erased)
  assert.deepEqual(readDestroyed("erasure", 9, { metadata }), erased)
  assert.deepEqual(readDestroyed("retention", 9, { metadata })?.fields, [], "only an erasure")
  for (const kind of ["event", "admin", "key"] as const)
    assert.equal(readDestroyed(kind, 9, { metadata }), undefined, kind)
  assert.equal(readDestroyed("erasure", 5, { metadata }), undefined, "only what is before it")
  for (const bodies of [
    [[3, 2]],
    [[0, 1]],
    [[1, 2.5]],
    [
      [1, 3],
      [3, 4],
    ],
    [[1]],
    [["1", "2"]],
    7,
    {},
  ])
    assert.equal(readDestroyed("retention", 9, { metadata: { bodies } }), undefined)
  const fieldsOf = (sequence: number) => ({ sequence, digests: ["x"] })
  const four = fieldsOf(4)
  const malformed: readonly Json[] = [
    [fieldsOf(2.5)],
    [four, fieldsOf(2)],
    [four, four],
    [{ ...four, digests: [] }],
    [{ ...four, digests: ["x", 1] }],
    [{ ...four, digests: "x" }],
    [null],
    four,
  ]
  for (const fields of malformed)
    assert.equal(readDestroyed("erasure", 9, { metadata: { fields } }), undefined)
})

function expired(bodies: Destroyed["bodies"]): Destroyed {
  return { why: "expired", bodies, fields: [] }
}
