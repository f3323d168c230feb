// Entries as CSV by RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe.

import type { ListedEntry } from "@tallystick/client/wire"

const columns: readonly (readonly [name: string, of: (entry: ListedEntry) => unknown])[] = [
  ["sequence", (entry) => entry.sequence],
  ["occurredAt", (entry) => entry.occurredAt],
  ["timestamp", (entry) => entry.timestamp],
  ["projectId", (entry) => entry.projectId],
  ["lane", (entry) => entry.lane],
  ["action", (entry) => entry.action],
  ["actorType", (entry) => entry.actor.type],
  ["actorId", (entry) => entry.actor.id],
  ["actorEmail", (entry) => entry.actor.email],
  ["actorName", (entry) => entry.actor.name],
  ["targetType", (entry) => entry.target.type],
  ["targetId", (entry) => entry.target.id],
  ["targetName", (entry) => entry.target.name],
  ["source", (entry) => entry.source],
  ["kind", (entry) => entry.kind],
  ["metadata", (entry) => JSON.stringify(entry.metadata)],
  ["receipt", (entry) => entry.receipt],
  ["hash", (entry) => entry.hash],
  ["previousHash", (entry) => entry.previousHash],
  ["integrity", (entry) => entry.integrity],
]

/** The full-width forms too: some programs take them for the ordinary ones. */
const formula = /^[=+\-@\t\r\n'\uff1d\uff0b\uff0d\uff20]/

export const csvHeader = line(columns.map(([name]) => name))

export function csvRow(entry: ListedEntry): string {
  return line(columns.map(([, of]) => cellText(of(entry))))
}

function cellText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : ""
}

function line(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${(formula.test(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(",")}\r\n`
}
