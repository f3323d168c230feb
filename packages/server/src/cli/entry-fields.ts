// How commands show the entries of a ledger.

import type { ListedEntry } from "@tallystick/client"
import type { Shown } from "./rows-output.ts"

/** The columns of CSV are those of `entries.csv` in an evidence pack, and what a reader may see. */
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
  csv: [
    ["sequence", ({ sequence }) => sequence],
    ["timestamp", ({ timestamp }) => timestamp],
    ["occurredAt", ({ occurredAt }) => occurredAt],
    ["kind", ({ kind }) => kind],
    ["projectId", ({ projectId }) => projectId],
    ["action", ({ action }) => action],
    ["lane", ({ lane }) => lane],
    ["source", ({ source }) => source],
    ["actor.id", ({ actor }) => actor.id],
    ["actor.type", ({ actor }) => actor.type],
    ["actor.email", ({ actor }) => actor.email],
    ["target.id", ({ target }) => target.id],
    ["target.type", ({ target }) => target.type],
    ["target.name", ({ target }) => target.name],
    ["userVisible", ({ userVisible }) => userVisible],
    ["policyVersion", ({ policyVersion }) => policyVersion],
    ["metadata", ({ metadata }) => metadata],
    ["receivedAt", ({ receivedAt }) => receivedAt],
    ["eventId", ({ id }) => id],
    ["receipt", ({ receipt }) => receipt],
    ["eventHash", ({ hash }) => hash],
    ["previousHash", ({ previousHash }) => previousHash],
    ["integrity", ({ integrity }) => integrity],
  ],
}

/** A broken entry may have neither. */
function nameOf(id: string | undefined, name: string | undefined): string {
  return id === undefined || name === undefined ? (id ?? name ?? "") : `${id} ${name}`
}

/** To the second, so that rows can be compared; as it was written, if it is no time. */
function inUtc(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime())
    ? time
    : `${date.toISOString().slice(0, 19).replace("T", " ")}Z`
}
