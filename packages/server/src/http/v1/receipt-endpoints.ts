// Verification of a receipt. Anyone who has the id of a receipt of a public project may see it,
// without its sealed fields.

import { openEntry } from "../../store/opened-entry.ts"
import { LedgerError, usualError } from "../../error.ts"
import {
  findReceipt,
  showReceipt,
  tlogProofOf,
  type IsHeld,
  type VerifiedEntry,
} from "../../query/verified-entries.ts"
import type { TokenBound, Workspace } from "../../store/documents.ts"
import { vkeyOf } from "../../store/log-keys.ts"
import type { Stored } from "../../store/entries.ts"
import type { Store } from "../../store/store.ts"
import { mayTouch, refusal } from "../../workspace/permissions.ts"
import { preferred } from "../accept.ts"
import { turnOf, unknownResource } from "../authenticate.ts"
import type { Answer } from "../endpoint.ts"
import type { Incoming } from "../incoming.ts"
import { endpoint, type Caller, type Service, type ServiceEndpoint } from "../service.ts"
import { ReceiptAnswer } from "../shapes/entry.ts"
import { heldFor } from "./hold-endpoints.ts"
import { PlainText } from "../shapes/path.ts"

/** The handler decides what the caller may see, once it has found the entry. */
const ofReceipt = {
  action: "read",
  anonymous: true,
  foreignAsNone: true,
  tokens: ["receipt", "evidence"],
} as const

export function receiptEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/receipts/{receiptId}",
      operation: "verifyReceipt",
      summary: "Verify a receipt",
      description:
        "Reads and hashes the entry again, and returns it with its proof. Anyone may request a receipt of a public project, without its sealed fields. A browser, whose Accept prefers text/html, is redirected to the page of the receipt.",
      refuses: ["overloaded"],
      access: ofReceipt,
      cors: true,
      answers: { 200: ReceiptAnswer, 302: null },
      async handle({ caller, params, incoming }) {
        if (isForPeople(incoming.headers.accept)) return leadToPage(service, params)
        const body = await receiptAnswer(service, caller, params, incoming)
        return forEveryone(caller, { status: 200, body })
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/receipts/{receiptId}/proof",
      operation: "getReceiptProof",
      summary: "Get the proof of a receipt",
      description:
        "A c2sp.org/tlog-proof, which verifies without the service. If no checkpoint covers the entry yet, one is signed first.",
      refuses: ["overloaded", "integrity_failure"],
      access: ofReceipt,
      cors: true,
      answers: { 200: PlainText },
      answerType: "text/plain; charset=utf-8",
      async handle({ caller, params, incoming }) {
        const { workspace, found } = await look(service, caller, params, incoming)
        const sealed =
          found.integrity === "pending" && found.epoch.end === undefined
            ? await sealedNow(service, workspace, found)
            : found
        if (sealed.integrity === "broken") throw unproven()
        if (sealed.inclusion === undefined && sealed.epoch.end !== undefined) throw neverSealed()
        const text = tlogProofOf(sealed)
        if (text === undefined)
          throw new LedgerError("ledger_unavailable", "no signed checkpoint covers this entry yet")
        return forEveryone(caller, { status: 200, body: text })
      },
    }),
  ]
}

interface ReceiptPlace {
  readonly workspaceId: string
  readonly receiptId: string
}

type ReadBy = Pick<Incoming, "address" | "signal">

/** A browser that opens the address of a receipt is redirected to its page. */
function leadToPage({ publicUrl }: Service, { workspaceId, receiptId }: ReceiptPlace): Answer {
  const location = `${new URL(publicUrl).pathname.replace(/\/$/, "")}/r/${workspaceId}/${receiptId}`
  return { status: 302, headers: { location, vary: "Accept" } }
}

function isForPeople(accept: string | undefined): boolean {
  return preferred(accept, ["application/json", "text/html"]) === "text/html"
}

/** The receipt in JSON, for callers who may see it. */
export async function receiptAnswer(
  service: Service,
  caller: Caller,
  params: ReceiptPlace,
  incoming: ReadBy,
): Promise<string> {
  const { workspace, found, clear, isHeld } = await look(service, caller, params, incoming)
  const vkey = await vkeyOf(service.store.registry, found.epoch, found.inclusion?.checkpoint.note)
  if (service.pace.isUp()) await service.pace.next()
  const { receipt, entry, verified, proof, disclosures } = showReceipt(
    found,
    workspace,
    vkey,
    service.publicUrl,
    clear,
    await isHeld?.(found.stored),
  )
  return `{"receipt":${receipt},"entry":${entry},"verified":${verified},"proof":${proof},"disclosures":${JSON.stringify(disclosures)}}`
}

interface Looked {
  readonly workspace: Workspace
  readonly found: VerifiedEntry
  /** Whether the caller sees the sealed fields. */
  readonly clear: boolean
  readonly isHeld: IsHeld | undefined
}

/**
 * A private receipt is answered exactly like a missing one. Both cause the same look-ups, and
 * nothing is verified before a refusal.
 */
async function look(
  service: Service,
  caller: Caller,
  { workspaceId, receiptId }: ReceiptPlace,
  incoming: ReadBy,
): Promise<Looked> {
  const { store, clock, reading, source, pace } = service
  return reading.run(turnOf(caller, workspaceId, incoming), incoming.signal, async () => {
    const [workspace, stored] = await Promise.all([
      store.registry.get("workspace", workspaceId, workspaceId),
      store.journal.byReceipt(workspaceId, receiptId),
    ])
    if (workspace === undefined || stored === undefined) throw unseen(caller, workspaceId)
    // A body may have 256 KiB: to read it, to check it and to show it take a piece each.
    if (pace.isUp()) await pace.next()
    const projectId = openEntry(stored, [])?.content.projectId
    const clear = await mayRead(service, caller, stored, projectId, workspaceId)
    const project =
      projectId === undefined ? undefined : await service.projects.find(workspaceId, projectId)
    if (!clear && project?.value.receipts !== "public") throw unseen(caller, workspaceId)
    const isHeld = clear ? heldFor(service, caller, workspaceId) : undefined
    const found = await findReceipt(source, workspace, stored, clock.now(), pace)
    // An entry that does not verify could name any project, so strangers do not see it.
    if (!clear && found.opened === undefined) throw unseen(caller, workspaceId)
    return { workspace, found, clear, isHeld }
  })
}

/** Whether the caller could read it if it were private. */
async function mayRead(
  { store }: Service,
  caller: Caller,
  stored: Stored,
  projectId: string | undefined,
  workspaceId: string,
): Promise<boolean> {
  if (caller?.kind === "token")
    return (
      caller.workspace === workspaceId && opensEntry(store, caller.workspace, caller.bound, stored)
    )
  // A key also sees a broken entry, if the entry names a project that the key reaches.
  return (
    caller !== undefined &&
    refusal(caller, "read", workspaceId) === undefined &&
    mayTouch(caller, projectId)
  )
}

/** A receipt token reads that receipt, an evidence token the receipts of its pack. */
async function opensEntry(
  { registry }: Store,
  workspaceId: string,
  bound: TokenBound,
  { receipt, sequence }: Stored,
): Promise<boolean> {
  switch (bound.type) {
    case "receipt":
      return bound.receipt === receipt
    case "evidence":
      return (
        (await registry.get("pack", workspaceId, bound.packId))?.value.sequences.includes(
          sequence,
        ) === true
      )
    case "policy":
    case "activity":
      return false
  }
}

function unseen(caller: Caller, workspaceId: string): LedgerError {
  const code = caller === undefined ? undefined : refusal(caller, "read", workspaceId)
  return code === undefined ? unknownResource(caller) : usualError(code)
}

function unproven(): LedgerError {
  return new LedgerError(
    "integrity_failure",
    "this entry fails its integrity check, so there is no proof of it; the operator has been told",
  )
}

function neverSealed(): LedgerError {
  return new LedgerError(
    "not_found",
    "no kept checkpoint of this entry's epoch covers it, and none will be signed; the genesis of the next epoch commits to it",
  )
}

/** Signs a checkpoint that covers the entry, unless that takes too long. */
async function sealedNow(
  { seal, clock, limits, source, pace }: Service,
  workspace: Workspace,
  { stored }: VerifiedEntry,
): Promise<VerifiedEntry> {
  await Promise.race([seal(workspace.id), clock.sleep(limits.proofWaitMs)])
  return findReceipt(source, workspace, stored, clock.now(), pace)
}

/** Caches may keep a public answer, but must revalidate it. */
function forEveryone(caller: Caller, answer: Answer): Answer {
  return caller === undefined
    ? { ...answer, headers: { "cache-control": "no-cache", vary: "Accept" } }
    : answer
}
