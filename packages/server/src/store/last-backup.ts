// When `tallystick backup` last copied this data: a file next to the data, which the service shows.
// Copies that are made in other ways are not noted.

import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { isJsonObject, parseJson } from "@tallystick/proof"
import { replaceFile } from "../runtime/durable-file.ts"

export interface LastBackup {
  /** When it began: it contains all entries that were acknowledged earlier. */
  readonly at: string
  readonly entries: number
}

const nameOf = (data: string): string => join(data, "last-backup.json")

export function noteBackup(data: string, { at, entries }: LastBackup): void {
  // The service shows it, also when root has made the backup.
  replaceFile(nameOf(data), `${JSON.stringify({ at, entries })}\n`, join(data, "journal.db"))
}

/** Undefined if there was none, or the file is malformed. */
export async function readLastBackup(data: string): Promise<LastBackup | undefined> {
  const noted = parseJson(await readFile(nameOf(data), "utf8").catch(() => ""))
  if (!isJsonObject(noted)) return undefined
  const { at, entries } = noted
  const isNoted = typeof at === "string" && !Number.isNaN(Date.parse(at))
  if (!isNoted || typeof entries !== "number" || !Number.isSafeInteger(entries)) return undefined
  return { at: new Date(at).toISOString(), entries }
}
