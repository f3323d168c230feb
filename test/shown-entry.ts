// The first entry of the frozen vectors, as the API shows it to a stranger, and as a service shows
// it that gives no content to compute from.

import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { EntryProof, ListedEntry } from "@tallystick/client/wire"
import { formatTlogProof, fromHex, toBase64 } from "@tallystick/proof"

interface Vectors {
  readonly note: { readonly vkey: string }
  readonly ledger: {
    readonly checkpoint: string
    readonly incl: readonly (readonly string[])[]
    readonly events: readonly {
      readonly body: string
      readonly bodySalt: string
      readonly record: string
      readonly eventHash: string
    }[]
  }
}

const { note, ledger } = JSON.parse(
  readFileSync(join(import.meta.dirname, "vectors/format-vectors.json"), "utf8"),
) as Vectors
const [
  { body, bodySalt, record, eventHash } = { body: "", bodySalt: "", record: "", eventHash: "" },
] = ledger.events
const bytesOf = (hex: string): Uint8Array => fromHex(hex) ?? new Uint8Array()

export const logKey = note.vkey

const proof: EntryProof = {
  record: toBase64(bytesOf(record)),
  body,
  bodySalt,
  vkey: logKey,
  tlogProof: formatTlogProof({
    index: 0,
    hashes: (ledger.incl[0] ?? []).map(bytesOf),
    checkpoint: ledger.checkpoint,
  }),
}

const party = { id: "usr_1", type: "user" }

/** Genuine under the key of the log. */
export const genuineEntry = {
  action: "billing.invoice.approve",
  actor: party,
  hash: eventHash,
  integrity: "verified",
  sequence: 1,
  proof,
  disclosures: [],
  // The other members may be absent.
} as unknown as ListedEntry

/** The same record, with another content shown than the one that it commits to. */
export function withoutBody(changes: Partial<ListedEntry> = {}, sealed = true): ListedEntry {
  const { tlogProof } = proof
  return {
    ...genuineEntry,
    action: "billing.invoice.reject",
    actor: { ...party, id: "usr_2" },
    proof: { ...proof, body: null, bodySalt: null, tlogProof: sealed ? tlogProof : null },
    ...changes,
  }
}
