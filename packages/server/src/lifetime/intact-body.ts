// The body of an entry that decides what is destroyed: by what it records, or because it is about a
// person or has expired.

import { commitsTo, parseBody, parseRecord, type JsonObject } from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { Stored } from "../store/entries.ts"

/** Undefined if there is none. Throws `integrity_failure` if it is not the one that was recorded. */
export function intactBody(entry: Stored): JsonObject | undefined {
  const { workspace, sequence, body } = entry
  if (body === undefined) return undefined
  const read = isAsRecorded(entry) ? parseBody(body, workspace) : "canonical"
  if (typeof read === "string")
    throw new LedgerError(
      "integrity_failure",
      `entry ${sequence} is damaged, and it decides what is destroyed`,
    )
  return read
}

export function isAsRecorded({ record, body, bodySalt }: Stored): boolean {
  const fields = parseRecord(record)
  return (
    fields !== undefined &&
    body !== undefined &&
    bodySalt !== undefined &&
    commitsTo(fields, bodySalt, body, sha256)
  )
}
