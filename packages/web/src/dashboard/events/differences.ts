// How writers say that something changed: `before` and `after`, or `changes` by field.

import { isObject } from "@tallystick/proof"

export interface Change {
  readonly field: string
  /** Undefined if the field was absent. */
  readonly before: Found | undefined
  readonly after: Found | undefined
}

export interface Found {
  /** Its path for a search: `after.plan`. */
  readonly path: string
  readonly value: unknown
}

type Fields = Readonly<Record<string, unknown>>

export interface Differences {
  readonly changes: readonly Change[]
  readonly rest: readonly (readonly [field: string, value: unknown])[]
}

/** Receipts of related entries are shown elsewhere. */
const elsewhere = "relatedReceiptIds"

export function differencesIn(metadata: Fields): Differences {
  const { before, after, changes, ...others } = metadata
  const rest = Object.entries(others).filter(([field]) => field !== elsewhere)
  const found: Change[] = []
  if (isObject(before) && isObject(after)) found.push(...between(before, after))
  else rest.unshift(...given({ before, after }))
  const each = isObject(changes) ? Object.entries(changes).map(changeOf) : [undefined]
  if (each.every((change) => change !== undefined)) found.push(...each)
  else rest.unshift(...given({ changes }))
  return { changes: found, rest }
}

/** Without fields that are equal in both. */
function between(before: Fields, after: Fields): readonly Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => ({
      field,
      before: found(`before.${field}`, before[field]),
      after: found(`after.${field}`, after[field]),
    }))
}

/** `{ "plan": { "from": …, "to": … } }`, or with `before` and `after`, `old` and `new`, or a pair. */
function changeOf([field, value]: [string, unknown]): Change | undefined {
  const path = `changes.${field}`
  // Elements of an array have the array's name.
  if (Array.isArray(value) && value.length === 2)
    return { field, before: found(path, value[0]), after: found(path, value[1]) }
  if (!isObject(value)) return undefined
  for (const [first, second] of [
    ["from", "to"],
    ["before", "after"],
    ["old", "new"],
  ] as const)
    if (first in value || second in value)
      return {
        field,
        before: found(`${path}.${first}`, value[first]),
        after: found(`${path}.${second}`, value[second]),
      }
  return undefined
}

function found(path: string, value: unknown): Found | undefined {
  return value === undefined ? undefined : { path, value }
}

function given(fields: Fields): [string, unknown][] {
  return Object.entries(fields).filter(([, value]) => value !== undefined)
}
