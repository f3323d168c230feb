import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import {
  isSameSum,
  KeysOfNumbers,
  NumbersOfKeys,
  PairHash,
  totalOf,
  type PairSum,
} from "./pair-sums.ts"
import { createChance, seedOf } from "../../../../../test/chance.ts"

type Pair = readonly [key: string, number: number]

const hash = new PairHash(randomBytes(32))

function byNumber(pairs: readonly Pair[]): PairSum {
  const sums = new KeysOfNumbers(hash)
  for (const [number, same] of Map.groupBy(pairs, ([, of]) => of)) {
    sums.begin(number)
    for (const [key] of same) {
      const bytes = Buffer.from(key)
      sums.add(1, 2, bytes, 0, bytes.length)
    }
  }
  return sums.sum()
}

function byKey(pairs: readonly Pair[]): PairSum {
  const sums = new NumbersOfKeys(hash)
  for (const [key, same] of Map.groupBy(pairs, ([of]) => of)) {
    const bytes = Buffer.from(key)
    hash.key(1, 2, bytes, 0, bytes.length)
    const numbers = new Set(same.map(([, number]) => number))
    sums.add(Uint32Array.from(numbers), numbers.size)
  }
  return sums.sum()
}

function pairsBy(seed: number): Pair[] {
  const chance = createChance(seed)
  const key = (): string => chance.pick(["a", "\0", "é", "x".repeat(60)]).repeat(chance.below(4))
  return Array.from({ length: 2000 }, () => [
    `${key()}${chance.below(40)}`,
    chance.pick([chance.below(300), chance.below(2 ** 32)]),
  ])
}

test("a set has one sum, by its keys and by its numbers, in pieces and in any order", (t) => {
  const pairs = pairsBy(seedOf(t))
  const sum = byKey(pairs)
  assert.ok(isSameSum(sum, byNumber(pairs)))
  assert.ok(isSameSum(sum, byNumber([...pairs.toReversed(), ...pairs])))
  const apart = [...Map.groupBy(pairs, ([, number]) => number % 3).values()].map(byNumber)
  assert.ok(isSameSum(sum, totalOf(apart)))
  assert.ok(!isSameSum(sum, byNumber(pairsBy(1))))
})

test("a pair more, less or another one changes both numbers of the sum", (t) => {
  const pairs = pairsBy(seedOf(t))
  const { one, other } = byKey(pairs)
  const first = pairs[0] ?? assert.fail("a pair")
  const without = pairs.filter(([key, number]) => key !== first[0] || number !== first[1])
  const others: Pair[][] = [
    without,
    ...["", "a", "a".repeat(64), "a".repeat(65), "b".repeat(65), "a\0", "\0a"].map(
      (key): Pair[] => [...without, [`new ${key}`, first[1]]],
    ),
    ...[0, 1, 255, 256, 65_536, 2 ** 24, 2 ** 32 - 1].map((number): Pair[] => [
      ...without,
      ["new", number],
    ]),
  ]
  const sums = [{ one, other }, ...others.map(byKey)]
  assert.equal(new Set(sums.map((sum) => sum.one)).size, sums.length)
  assert.equal(new Set(sums.map((sum) => sum.other)).size, sums.length)
})

test("keys, and numbers, that share their bytes crosswise do not cancel each other out", () => {
  const ofKey = (key: string): number => {
    hash.key(1, 2, Buffer.from(key), 0, key.length)
    return hash.one
  }
  const ofNumber = (number: number): number => {
    hash.number(number)
    return hash.one
  }
  const isOddSum = (hashes: readonly number[]): number =>
    hashes.reduce((sum, one) => (sum + one) | 0, 0) & 1
  // What the tables alone give has, of four such, always an even sum.
  const odd = { keys: 0, numbers: 0 }
  for (let round = 0; round < 1000; round++) {
    const [a, b, c, d] = [1, 2, 3, 4].map((digit) => String(digit * 1000 + round))
    const keys = [`${a}.${b}`, `${c}.${d}`, `${a}.${d}`, `${c}.${b}`].map(ofKey)
    odd.keys += isOddSum(keys)
    // As bytes, each of these numbers has one of two low and one of two high bytes.
    const [low, high] = [round & 0x7f, 0x100 * (1 + round)]
    const numbers = [low, high + low, 0x80 + low, high + 0x80 + low].map(ofNumber)
    odd.numbers += isOddSum(numbers)
  }
  for (const [what, count] of Object.entries(odd))
    assert.ok(count > 350 && count < 650, `${count} of 1000 ${what}`)
})

test("a number may have very many keys, and be begun again", () => {
  const pairs = Array.from({ length: 30_000 }, (_, key): Pair => [`key ${key % 20_000}`, 7])
  assert.ok(isSameSum(byNumber(pairs), byKey(pairs)))
  const sums = new KeysOfNumbers(hash)
  sums.begin(7)
  sums.add(1, 2, Buffer.from("key 1"), 0, 5)
  sums.undo()
  sums.add(1, 2, Buffer.from("key 2"), 0, 5)
  sums.add(1, 2, Buffer.from("key 2"), 0, 5)
  assert.ok(isSameSum(sums.sum(), byKey([["key 2", 7]])))
})

test("another secret gives other sums, and the same the same", () => {
  const sum = (secret: Uint8Array): PairSum => {
    const sums = new KeysOfNumbers(new PairHash(secret))
    sums.begin(1)
    sums.add(0, 0, Buffer.from("key"), 0, 3)
    return sums.sum()
  }
  assert.deepEqual(sum(Buffer.alloc(32, 1)), sum(Buffer.alloc(32, 1)))
  assert.ok(!isSameSum(sum(Buffer.alloc(32, 1)), sum(Buffer.alloc(32, 2))))
})
