// Where an entry stands in the search file: its workspace's number and its sequence in one integer,
// so that each workspace's entries lie together and in their order, in every table and in every
// list of the full-text index.

import { strict as assert } from "node:assert"

/**
 * A ledger of so many entries would be terabytes; and beside it there is room for two million
 * workspaces in an exact number.
 */
const sequences = 2 ** 32
const workspaces = 2 ** 21

export const blockSequences = 4096
export const hourMs = 3_600_000

export function placeOf(number: number, sequence: number): number {
  assert(number < workspaces && sequence < sequences, "a place is an exact number")
  return number * sequences + sequence
}

export function sequenceOf(place: number): number {
  return place % sequences
}

export function blockOf(sequence: number): number {
  return Math.floor(sequence / blockSequences)
}

/** Rounded down, also before 1970. */
export function hourOf(ms: number): number {
  return Math.floor(ms / hourMs)
}
