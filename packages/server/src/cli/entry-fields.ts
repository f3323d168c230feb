// How commands show the entries of a ledger.

import type { ListedEntry } from "@tallystick/client"
import { entryColumns } from "../query/entry-columns.ts"
import type { Shown } from "./rows-output.ts"

export const shownEntry: Shown<ListedEntry> = {
  table: [
    { title: "SEQUENCE", usual: 8, cellOf: ({ sequence }) => String(sequence) },
    { title: "OCCURRED", usual: 20, cellOf: ({ occurredAt }) => inUtc(occurredAt) },
    { title: "ACTION", usual: 28, canShrink: true, cellOf: ({ action }) => action },
    {
      title: "ACTOR",
      usual: 24,
      canShrink: true,
      cellOf: ({ actor }) => nameOf(actor.id, actor.email),
    },
    {
      title: "TARGET",
      usual: 24,
      canShrink: true,
      cellOf: ({ target }) => nameOf(target.id, target.name),
    },
    { title: "RECEIPT", usual: 40, cellOf: ({ receipt }) => receipt },
    { title: "PROJECT", usual: 12, cellOf: ({ projectId }) => projectId },
    { title: "LANE", usual: 10, cellOf: ({ lane }) => lane },
  ],
  csv: entryColumns.map(({ name, valueOf }) => [name, valueOf]),
}

/** A broken entry may have neither id nor name. */
function nameOf(id: string | undefined, name: string | undefined): string {
  return id === undefined || name === undefined ? (id ?? name ?? "") : `${id} ${name}`
}

/**
 * The time in UTC to the second, so that rows can be compared. A text that is no time is returned
 * unchanged.
 */
function inUtc(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime())
    ? time
    : `${date.toISOString().slice(0, 19).replace("T", " ")}Z`
}
