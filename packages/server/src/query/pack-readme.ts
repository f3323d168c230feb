// The README of an evidence pack. A pack's hash covers it, so the text must not change for existing
// packs: another text needs another form of pack.

import { toHex } from "@tallystick/proof"
import type { PackDocument } from "../store/documents.ts"
import type { Epoch } from "../store/epochs.ts"

export function packReadme(
  { workspace, origin, ledgerId }: Pick<Epoch, "workspace" | "origin" | "ledgerId">,
  {
    packId,
    title,
    createdAt,
    sequences,
    verifier,
  }: Pick<PackDocument, "title" | "createdAt" | "sequences" | "verifier"> & {
    readonly packId: string
  },
): string {
  return `EVIDENCE PACK

title      ${JSON.stringify(title)}
pack       ${packId}
made       ${createdAt}
entries    ${sequences.length}
workspace  ${workspace}
log        ${origin}
ledger     ${toHex(ledgerId)}

Entries of a ledger, with what it takes to check them without the service that keeps it.

  entries.csv      the entries, for a spreadsheet; a cell that begins with = + - @ or ', a tab, a line feed, a
                   carriage return, or the full-width \uff1d \uff0b \uff0d or \uff20 has one ' more in front
  receipts.jsonl   the same as receipts, one JSON object on each line
  bodies/          what was hashed, and the salt of each hash
  disclosures/     personal fields, as RFC 9901 disclosures; they can be erased, all else stays as it is
  proofs/          for each entry its record, and its way to the root of the log's tree (C2SP tlog-proof)
  checkpoint       that root, signed
  log.vkey         the key that signs
  policy.txt       the same key as a C2SP tlog-policy
  genesis.json     the beginning of the ledger: its hash is the ledger's id
  policies/        the published policies that the entries name
${verifier === undefined ? "" : itself}  manifest.json    the SHA-256 of every file but disclosures/ and seal.*
  seal.json        the ledger's own entry about this pack; it says the SHA-256 of manifest.json
  seal.tlog-proof  the proof of that entry

Whoever gave you this could have made up a key as well. Compare log.vkey with the key that you got by another way.

${verifier === undefined ? byProgram : byItself} By hand, the beginning is

  sha256sum manifest.json     what "packHash" in seal.json says
  sha256sum entries.csv       what manifest.json says of it
`
}

const itself = "  verify.html      a page that checks the pack in a browser, without a network\n"

const byProgram = "To check it, use verifyPack of @tallystick/proof, which needs no network."

const byItself = `To check it, open verify.html in a browser, and drop the ZIP on it as you received it. Nothing leaves
your computer. Whoever gave you this could have made up that page, too. If it matters, take the page
from somebody else: every Tallystick service has it at /verify.html. The command tallystick verify and
verifyPack of @tallystick/proof do the same.`
