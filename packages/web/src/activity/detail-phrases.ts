import { copyWords } from "../parts/copy.tsx"

export const englishDetails = {
  ...copyWords,
  sealedSays: "Recomputed in this browser: this is what was recorded, and where.",
  pendingSays:
    "Recomputed in this browser: this is what was recorded. No checkpoint covers it yet.",
  unprovenSays: "The service gave no proof of this entry, so nothing was recomputed.",
  brokenSays:
    "What is shown here is not what was recorded. Keep this entry, and ask whoever runs the ledger.",
  recorded: "Recorded",
  entry: "Entry",
  action: "Action",
  hash: "Hash",
  signedFor: "Signed for",
  entries: "{count} entries",
  key: "Key",
  keyTrusted: "one that you trust",
  keyNotConfirmed: "not confirmed by you",
  receipt: "Receipt",
  copyReceipt: "Copy receipt id",
  save: "Entry and proof",
  verify: "Verify it",
}
