// The state of a workspace's chain: how far it is signed, which entries were re-verified, and where
// it is broken.

import type * as wire from "@tallystick/client/wire"
import { isoTime } from "../../clock.ts"
import type { Fault } from "../../followers/health.ts"
import { epochsOf } from "../../store/epochs.ts"
import { vkeyOf } from "../../store/log-keys.ts"
import type { Workspace } from "../../store/documents.ts"
import type { Audit } from "../../store/index-state.ts"
import { ok } from "../endpoint.ts"
import { endpoint, type Service, type ServiceEndpoint } from "../service.ts"
import { ChainState } from "../shapes/chain-state.ts"

export function integrityEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/integrity",
      operation: "getIntegrity",
      summary: "Get the state of a chain",
      description:
        "The length of the chain, how far it is signed, which entries were re-verified and when, and where it is broken.",
      access: { action: "read" },
      answers: { 200: ChainState },
      async handle({ params }) {
        const workspace = await service.workspaces.get(params.workspaceId)
        return ok(await stateOf(service, workspace))
      },
    }),
  ]
}

async function stateOf(service: Service, workspace: Workspace): Promise<wire.ChainState> {
  const { store, source, queries } = service
  // Read before the head, so that the chain contains every entry that they cover.
  const audit = await store.index.audit(workspace.id)
  const checkpoint = await checkpointOf(service, workspace)
  const archived = await queries.archived(workspace)
  const size = (await source.journal.head(workspace.id))?.sequence ?? 0
  const fault = faultOf(service, workspace.id, audit)
  return {
    workspaceId: workspace.id,
    size,
    ...(checkpoint && { checkpoint }),
    pending: size - (checkpoint?.sequence ?? 0),
    archived,
    checked: rangesOf(audit, size, fault),
    checking: audit !== undefined && !audit.isDone && fault === undefined,
    faults:
      fault === undefined
        ? []
        : [{ sequence: fault.sequence, detail: fault.detail, foundAt: isoTime(fault.foundMs) }],
  }
}

/** A forged checkpoint counts as none, because it proves nothing. The fault reports it. */
async function checkpointOf(
  { store, source }: Service,
  workspace: Workspace,
): Promise<wire.ChainState["checkpoint"]> {
  const [epoch] = epochsOf(workspace)
  const { checkpoint } = await source.checkpoints.of(workspace, epoch)
  if (checkpoint === undefined) return undefined
  const { size, signedMs, note } = checkpoint
  const vkey = await vkeyOf(store.registry, epoch, note)
  return { sequence: epoch.before + size, size, signedAt: isoTime(signedMs), vkey }
}

/** A fault that was found before a restart counts until the auditor has checked again. */
function faultOf({ health }: Service, workspaceId: string, audit: Audit | undefined) {
  const found = health.broken.get(workspaceId)
  return found ?? (health.audit() === undefined ? audit?.finding : undefined)
}

/**
 * Nothing after a fault counts as verified, nor does the entry before it: a changed record may only
 * show in the link of the next entry.
 */
function rangesOf(
  audit: Audit | undefined,
  size: number,
  fault: Pick<Fault, "sequence"> | undefined,
): wire.ChainState["checked"] {
  // A chain that has lost its end may be shorter than the checked range.
  const end = Math.min(size, (fault?.sequence ?? Infinity) - 2)
  let from = 1
  return (audit?.checked ?? []).flatMap(({ to, sinceMs }) => {
    const range = { from, to: Math.min(to, end), checkedAt: isoTime(sinceMs) }
    from = to + 1
    return range.from <= range.to ? [range] : []
  })
}
