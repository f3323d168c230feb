// The columns of entries, for CSV and Parquet: those of `entries.csv` in an evidence pack by the
// same names, and the sealed fields that a reader may see.

import type { Entry } from "@tallystick/client/wire"
import { hasFurther, type Complete, type Party } from "../store/opened-entry.ts"

/** A JSON value, or undefined if the entry has none. */
export type AnyEntry = Entry | Complete<Entry>

export interface EntryColumn {
  readonly name: string
  /** `json` is a value that is written as JSON text; `time` a text with a time. */
  readonly type: "text" | "json" | "time" | "integer" | "boolean"
  readonly valueOf: (entry: AnyEntry) => unknown
}

export const entryColumns: readonly EntryColumn[] = [
  column("sequence", "integer", ({ sequence }) => sequence),
  column("timestamp", "time", ({ timestamp }) => timestamp),
  column("occurredAt", "time", ({ occurredAt }) => occurredAt),
  column("kind", "text", ({ kind }) => kind),
  column("projectId", "text", ({ projectId }) => projectId),
  column("action", "text", ({ action }) => action),
  column("lane", "text", ({ lane }) => lane),
  column("source", "text", ({ source }) => source),
  column("actor.id", "text", ({ actor }) => actor.id),
  column("actor.type", "text", ({ actor }) => actor.type),
  column("actor.email", "text", ({ actor }) => actor.email),
  column("target.id", "text", ({ target }) => target.id),
  column("target.type", "text", ({ target }) => target.type),
  column("target.name", "text", ({ target }) => target.name),
  column("userVisible", "boolean", ({ userVisible }) => userVisible),
  column("policyVersion", "integer", ({ policyVersion }) => policyVersion),
  column("metadata", "json", ({ metadata }) => metadata),
  column("receivedAt", "time", ({ receivedAt }) => receivedAt),
  column("eventId", "text", ({ id }) => id),
  column("receipt", "text", ({ receipt }) => receipt),
  column("eventHash", "text", ({ hash }) => hash),
  column("previousHash", "text", ({ previousHash }) => previousHash),
  column("integrity", "text", ({ integrity }) => integrity),
  column("actor.name", "text", ({ actor }) => actor.name),
  column("actor.other", "json", ({ actor }) => otherOf(actor)),
  column("target.email", "text", ({ target }) => target.email),
  column("target.other", "json", ({ target }) => otherOf(target)),
  column("provenance", "json", ({ provenance }) => provenance),
  column("clockAhead", "boolean", ({ clockAhead }) => clockAhead),
  column("storageTier", "text", ({ storageTier }) => storageTier),
]

function column(
  name: string,
  type: EntryColumn["type"],
  valueOf: EntryColumn["valueOf"],
): EntryColumn {
  return { name, type, valueOf }
}

/** Further members of a party, which the format does not name. */
function otherOf(party: Entry["actor"]): object | undefined {
  if (!hasFurther(party as Party)) return undefined // an entry's party is one
  const { id: _, type: __, email: ___, name: ____, ...other } = party
  return other
}

/** An absent value is empty, a string is written unchanged, and anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "")
}
