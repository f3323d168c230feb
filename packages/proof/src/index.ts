/**
 * The bytes and the mathematics of a Tallystick ledger: the form of an entry, its hash, and the
 * proof of its place. No I/O and no state; the same in Node and in a browser.
 */
export { assert, AssertionError } from "./assert.ts"
export { bodyHash, bodySaltBytes, bodyTag, commitsTo, parseBody, type BodyFault } from "./body.ts"
export { canonicalize, parseCanonical } from "./canonical.ts"
export { createChain, placeFault, type Chain, type Place, type PlaceFault } from "./chain.ts"
export { formatCheckpoint, parseCheckpoint, type Checkpoint } from "./checkpoint.ts"
export {
  formatDestroyed,
  readDestroyed,
  type Destroyed,
  type DestroyedFields,
  type DestroyedWhy,
} from "./destroyed.ts"
export { ed25519PublicKey, ed25519Sign, ed25519Verify, type Sign, type Verify } from "./ed25519.ts"
export {
  concat,
  equalBytes,
  fromBase64,
  fromBase64Url,
  fromHex,
  fromUtf8,
  toBase64,
  toBase64Url,
  toHex,
  utf8,
} from "./encoding.ts"
export {
  entryFields,
  fieldsWith,
  type EntryField,
  type Field,
  type FieldWith,
  type RepeatedFields,
} from "./entry-fields.ts"
export {
  verifyExport,
  type ExportFiles,
  type ExportOptions,
  type ExportReport,
  type ExportVerdict,
} from "./export.ts"
export { isExportedLines } from "./exported-lines.ts"
export {
  examineFolder,
  examineFile,
  isZip,
  unreadable,
  type Difference,
  type Finding,
  type Folder,
  isUnchecked,
  type TrustedInput,
} from "./finding.ts"
export { createFrontier, emptyFrontier, type Frontier, type SavedFrontier } from "./frontier.ts"
export {
  ledgerId,
  parseGenesis,
  readLineage,
  type Born,
  type Continued,
  type Genesis,
} from "./genesis.ts"
export { hiddenCharacters, printable, printableJson } from "./hidden-characters.ts"
export {
  definedOf,
  equalJson,
  isJsonObject,
  isObject,
  parseJson,
  readJson,
  type Json,
  type JsonObject,
  type JsonText,
} from "./json.ts"
export { cosign, openNote, parseNote, signNote } from "./note.ts"
export type {
  Note,
  NoteFailure,
  OpenedNote,
  SignatureLine,
  Signer,
  VerifiedSignature,
} from "./note.ts"
export { verifyPack } from "./pack.ts"
export type {
  PackCheckName,
  PackFault,
  PackGenuine,
  PackOptions,
  PackRefuted,
  PackReport,
  PackUnconfirmed,
  PackVerdict,
} from "./pack.ts"
export { csvLine } from "./pack-csv.ts"
export {
  bodiesPath,
  disclosuresPath,
  epochPath,
  formatBodyLine,
  formatDisclosureLine,
  formatManifest,
  formatPolicy,
  formatReceiptLine,
  formatTableHeader,
  formatTableRow,
  formatTrustPolicy,
  isListed,
  packAction,
  packForm,
  packGroup,
  packPaths,
  packVerifierPath,
  policyPath,
  proofPath,
} from "./pack-form.ts"
export type { BodyLine, DisclosureLine, PackEntry, PackPolicy } from "./pack-form.ts"
export { addRange, lengthOfRanges, withoutRanges, type SequenceRange } from "./ranges.ts"
export { verifyReceipt } from "./receipt.ts"
export type {
  Because,
  Check,
  CheckName,
  Failure,
  Genuine,
  ReceiptOptions,
  Refuted,
  Report,
  Unconfirmed,
  Verdict,
} from "./receipt.ts"
export {
  encodeRecord,
  eventHash,
  kindOf,
  kinds,
  parseRecord,
  indexOfRecord,
  recordBytes,
  writeRecord,
  type Kind,
  type RecordFields,
} from "./record.ts"
export {
  claimsOf,
  digest,
  disclosure,
  openBody,
  openClaims,
  parseDisclosure,
  type Claims,
} from "./sealed.ts"
export type { Disclosed, OpenedBody, SealFailure } from "./sealed.ts"
export { sha256, type Sha256 } from "./sha256.ts"
export { maskEmail } from "./shown.ts"
export {
  bundle,
  levelWidth,
  nodeInTile,
  parseBundle,
  parseTilePath,
  partialWidth,
  tileOf,
  tilePath,
  tileWidth,
} from "./tile.ts"
export type { Tile, TileSlice } from "./tile.ts"
export { formatTlogProof, parseTlogProof, verifyTlogProof } from "./tlog-proof.ts"
export type {
  TlogProof,
  TlogProofFailure,
  TlogProofOptions,
  TlogProofRefuted,
  VerifiedTlogProof,
} from "./tlog-proof.ts"
export {
  consistencyNodes,
  consistencyProof,
  inclusionNodes,
  inclusionProof,
  rootNodes,
  rootOf,
  type NodeReader,
  type Subtree,
} from "./tree-proof.ts"
export {
  emptyRoot,
  hashBytes,
  leafHash,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
} from "./tree.ts"
export { createVkey, formatVkey, keyId, parseVkey, type KeyType, type Vkey } from "./vkey.ts"
export { crc32, readZip, zipBytes, zipDirectory, zipFileHeader, type ZipFile } from "./zip.ts"
export { signerOf } from "./trust.ts"
