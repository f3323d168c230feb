/**
 * The one table of the fields of an entry. Each field is a member of the hashed body, or sealed
 * with it. Types, checks, bodies, comparisons of requests and answers are made from this table or
 * checked against it, in every package.
 *
 * To add a field that the writer sets and the entry repeats: add its type in `RepeatedFields`, its
 * line in `entryFields`, and its rule in the API (http/shapes/event.ts). The compiler names the
 * rest. Then add it to docs/format.md and docs/api.md, which a test reads.
 */
export const entryFields = {
  workspaceId: { from: "writer", form: "word", shown: "entry" },
  projectId: { from: "writer", form: "word", shown: "entry" },
  action: { from: "writer", form: "text", shown: "entry" },
  actor: { from: "writer", form: "object", shown: "opened" },
  target: { from: "writer", form: "object", shown: "opened" },
  occurredAt: { from: "writer", form: "word", shown: "entry" },
  source: { from: "writer", form: "word", shown: "entry" },
  metadata: { from: "writer", form: "object", shown: "opened" },
  userVisible: { from: "writer", form: "value", shown: "entry" },
  id: { from: "ledger", form: "word", shown: "entry" },
  receipt: { from: "ledger", form: "word", shown: "receipt and entry" },
  lane: { from: "ledger", form: "word", shown: "receipt and entry" },
  receivedAt: { from: "ledger", form: "word", shown: "receipt and entry" },
  policyVersion: { from: "ledger", form: "value", shown: "receipt and entry" },
  clockAhead: { from: "ledger", form: "value", shown: "entry" },
  keyId: { from: "ledger", form: "context", shown: "opened" },
  context: { from: "ledger", form: "sealed", shown: "opened" },
} as const satisfies Readonly<Record<string, Field>> & Readonly<Record<keyof RepeatedFields, Field>>

export interface Field {
  /** Two requests with one key are the same request if their fields from the writer are equal. */
  readonly from: "writer" | "ledger"
  /**
   * The field's form in a body. A `word` needs no JSON escapes; a `text` may, and a search finds
   * its words. A `value` is a number, true or false. Parts of an `object` may be sealed. A `sealed`
   * field is in a disclosure of its own, a `context` field in the disclosure `context`.
   */
  readonly form: "word" | "text" | "value" | "object" | "sealed" | "context"
  /**
   * The answers that show the field under its name and with the body's value; `opened`: with the
   * sealed parts that the reader may see.
   */
  readonly shown: "entry" | "receipt and entry" | "opened"
}

/** Fields that the writer sets and the entry repeats unchanged. */
export interface RepeatedFields {
  readonly workspaceId: string
  readonly projectId: string
  /** A dotted name of two segments or more, such as `billing.invoice.approve`. */
  readonly action: string
  /**
   * Exactly as the writer sent it: `2026-01-31T09:30:00.250Z`, or with an offset such as `+02:00`.
   */
  readonly occurredAt: string
}

export type EntryField = keyof typeof entryFields

/** The fields with `Value` in the column `Column`. */
export type FieldWith<Column extends keyof Field, Value extends Field[Column]> = {
  [Name in EntryField]: (typeof entryFields)[Name][Column] extends Value ? Name : never
}[EntryField]

/** The names of these fields, in the order of the table. */
export function fieldsWith<Column extends keyof Field, Value extends Field[Column]>(
  column: Column,
  ...values: readonly Value[]
): readonly FieldWith<Column, Value>[] {
  // The filter checks at run time what the type states.
  return (Object.keys(entryFields) as FieldWith<Column, Value>[]).filter((name) =>
    (values as readonly Field[Column][]).includes(entryFields[name][column]),
  )
}
