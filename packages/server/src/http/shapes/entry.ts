import { Type } from "./type.ts"
import type * as wire from "@tallystick/client/wire"
import { answerOf } from "./wire-shape.ts"
import { exampleEvent, repeatedShapes } from "./event.ts"
import { Hash, ReceiptId, ShownEventId } from "./id.ts"
import { integrities, kinds, lanes, open, sources, storageClasses } from "./enumeration.ts"
import { Provenance, ShownActor, ShownTarget } from "./party.ts"
import { NamedPolicyVersion } from "./policy.ts"
import { exampleReceipt, Receipt } from "./receipt.ts"
import { Time } from "./time.ts"
import { sample } from "./sample.ts"

/** The members of an entry, also on a page of entries. */
export const entryFields = {
  id: ShownEventId,
  sequence: Type.Integer({
    minimum: 1,
    docs: {
      description:
        "The place in the chain. The service's own entries have places too, so two consecutive entries of a list need not be linked: projectId=all with " +
        "includeSystem=true and storage=all shows the whole chain.",
    },
  }),
  kind: open(kinds),
  workspaceId: Type.String(),
  projectId: Type.String(),
  action: Type.String(),
  actor: ShownActor,
  target: ShownTarget,
  ...repeatedShapes,
  source: open(sources),
  metadata: Type.Record(Type.String(), Type.Unknown()),
  userVisible: Type.Boolean(),
  hash: Hash,
  previousHash: Hash,
  receipt: ReceiptId,
  lane: open(lanes),
  storageTier: open(storageClasses),
  integrity: open(integrities),
  held: Type.Optional(Type.Boolean()),
  timestamp: Time,
  receivedAt: Type.Optional(Type.Union([Time, Type.Null()])),
  provenance: Type.Optional(Provenance),
  policyVersion: Type.Optional(NamedPolicyVersion),
  clockAhead: Type.Optional(Type.Boolean()),
}

export const exampleEntry = {
  ...exampleEvent,
  id: exampleReceipt.eventId,
  sequence: 4,
  kind: "event",
  hash: sample.hash,
  previousHash: sample.previousHash,
  receipt: sample.receipt,
  lane: "operations",
  storageTier: "hot",
  integrity: "verified",
  timestamp: sample.time,
  receivedAt: sample.time,
  provenance: exampleReceipt.provenance,
} as const satisfies wire.Entry

const Entry = answerOf<wire.Entry>()("Entry", entryFields, exampleEntry)

const exampleProof: wire.EntryProof = {
  record: "QUxSMQ==",
  body: '{"action":"billing.invoice.approve","v":1}',
  bodySalt: "000102030405060708090a0b0c0d0e0f",
  vkey: sample.vkey,
  tlogProof: null,
}

export const EntryProof = answerOf<wire.EntryProof>()(
  "EntryProof",
  {
    record: Type.String({ docs: { contentEncoding: "base64" } }),
    body: Type.Union([Type.String(), Type.Null()]),
    bodySalt: Type.Union([Type.String({ pattern: "^[0-9a-f]{32}$" }), Type.Null()]),
    vkey: Type.String(),
    tlogProof: Type.Union([Type.String(), Type.Null()]),
    geneses: Type.Optional(Type.Array(Type.String())),
  },
  exampleProof,
)

export const ReceiptAnswer = answerOf<wire.ReceiptAnswer>()(
  "ReceiptAnswer",
  {
    receipt: Receipt,
    entry: Entry,
    verified: Type.Boolean(),
    proof: Type.Optional(EntryProof),
    disclosures: Type.Optional(Type.Array(Type.String())),
  },
  {
    receipt: { ...exampleReceipt, queued: false },
    entry: exampleEntry,
    verified: true,
    proof: exampleProof,
    disclosures: [],
  },
)

const size = Type.Integer({ minimum: 0 })

export const LogKeys = answerOf<wire.LogKeys>()(
  "LogKeys",
  {
    keys: Type.Array(
      Type.Object({
        vkey: Type.String(),
        fromSize: size,
        toSize: Type.Union([size, Type.Null()]),
      }),
    ),
  },
  { keys: [{ vkey: sample.vkey, fromSize: 0, toSize: null }] },
)

export const Epochs = answerOf<wire.Epochs>()(
  "Epochs",
  {
    epochs: Type.Array(
      Type.Object({
        epoch: Type.Integer({ minimum: 1 }),
        origin: Type.String(),
        ledgerId: Hash,
        genesis: Type.String(),
        earlierEntries: size,
        size: Type.Union([size, Type.Null()]),
      }),
    ),
  },
  {
    epochs: [
      {
        epoch: 1,
        origin: sample.origin,
        ledgerId: sample.previousHash,
        genesis: '{"v":1}',
        earlierEntries: 0,
        size: null,
      },
    ],
  },
)

export const LogKeyRotated = answerOf<wire.LogKeyRotated>()(
  "LogKeyRotated",
  { vkey: Type.String(), fromSize: size, receiptId: ReceiptId },
  { vkey: sample.vkey, fromSize: 1042, receiptId: sample.receipt },
)
