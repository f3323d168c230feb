// Workspaces: each has its own ledger, with an origin and a signing key that its first entry
// records.

import {
  definedOf,
  canonicalize,
  ledgerId,
  toBase64Url,
  toHex,
  type JsonObject,
} from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { sealIdempotency, type Keyring } from "../secrets/keyring.ts"
import type { Random } from "../ledger/random.ts"
import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import { sha256 } from "../runtime/sha256.ts"
import { readState, stateChange } from "../store/retention-state.ts"
import {
  changed,
  type WorkspaceDocument,
  type WorkspaceSettings,
  type Workspace,
} from "../store/documents.ts"
import { isConflict, recordActs, recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { randomText } from "./credential-format.ts"
import { makeLogKey } from "./log-key-rotation.ts"
import { projectCreation } from "./projects.ts"
import { required } from "./required-document.ts"

export interface WorkspaceRequest extends Partial<WorkspaceSettings> {
  readonly id: string
  readonly name?: string | undefined
}

export interface Workspaces {
  create(by: Principal, request: WorkspaceRequest): Promise<Workspace>
  /** Refuses with `not_found`. */
  get(id: string): Promise<Workspace>
  change(by: Principal, id: string, request: Omit<WorkspaceRequest, "id">): Promise<Workspace>
}

export interface WorkspaceParts extends AdminParts {
  /** The host in the origin of new ledgers. Existing origins do not change. */
  readonly host: string
}

const firstProject = "core"

const defaultSettings: WorkspaceSettings = {
  policyVisibility: "private",
  projects: "open",
  transparency: "private",
  hotDays: 90,
  requirePublishedPolicy: false,
  personalKeys: [],
  laneRules: [],
}

export function createWorkspaces({ host, ...parts }: WorkspaceParts): Workspaces {
  const { registry, ledger, clock, keyring } = parts
  const inTurn = createOneAtATime()
  const get = (id: string) => required(registry, "workspace", id, id)

  return {
    get,

    // Each creation makes a ledger of its own, and a commit takes one, so a second request waits
    // and finds the first one's.
    create: (by, request) => inTurn(request.id, () => createAlone(by, request)),

    async change(by, id, request) {
      const changes = definedOf(request)
      await recordPlanned(parts, await get(id), async () => {
        const before = await get(id)
        const value = { ...before.value, ...changes }
        // A running expiry applies the new rules from its next step on.
        const state = changes.retention && (await readState(registry, id))
        return {
          by,
          action: "workspace.update",
          target: { id, type: "workspace", name: value.name },
          metadata: changes,
          changes: [changed(before, value), ...(state ? [stateChange(state, state.value)] : [])],
        }
      })
      return get(id)
    },
  }

  async function createAlone(
    by: Principal,
    { id, name = id, ...settings }: WorkspaceRequest,
  ): Promise<Workspace> {
    if ((await registry.get("workspace", id, id)) !== undefined) throw taken()
    const nowMs = clock.now()
    const createdAt = isoTime(nowMs)
    const genesis = makeGenesis(ledger.random, host, id, createdAt)
    const { origin } = genesis
    const made = ledgerId(canonicalize(genesis), sha256)
    const value: WorkspaceDocument = {
      name,
      createdAt,
      ...defaultSettings,
      ...definedOf(settings),
      genesis: canonicalize(genesis),
      ledgerId: toHex(made),
      origin,
      ...keptIdempotency(keyring, ledger.random, made),
    }
    const place = { kind: "workspace", workspace: id, id } as const
    const { change, vkey } = makeLogKey(keyring, ledger.random, { origin, createdAt })
    const act = {
      by,
      action: "workspace.create",
      target: { id, type: "workspace", name },
      metadata: { genesis, vkey, ...settingsOf(value) },
      changes: [changed({ ...place, version: 0 }, value), change],
    }
    try {
      await recordActs(
        ledger,
        { ...place, version: 1, created: 0, value },
        [act, projectCreation(by, { id: firstProject }, nowMs)],
        nowMs,
      )
    } catch (error) {
      throw isConflict(error) ? taken() : error
    }
    return get(id)
  }
}

/**
 * The first secret derives this key again at any time. A later secret may be rotated away, so the
 * key is stored.
 */
function keptIdempotency(
  keyring: Keyring,
  random: Random,
  of: Uint8Array,
): Pick<WorkspaceDocument, "idempotency"> {
  if (keyring.generation === 1) return {}
  const fresh = new Uint8Array(32)
  random(fresh)
  return { idempotency: sealIdempotency(keyring, of, fresh) }
}

/** The genesis of a new ledger: its origin and nonce are unique. */
export function makeGenesis(random: Random, host: string, workspaceId: string, createdAt: string) {
  const origin = `${host}/ledgers/${randomText(22, random).toLowerCase()}`
  const nonce = new Uint8Array(16)
  random(nonce)
  return { createdAt, nonce: toBase64Url(nonce), origin, v: 1, workspaceId } satisfies JsonObject
}

export function settingsOf(value: WorkspaceDocument): WorkspaceSettings & JsonObject {
  const {
    policyVisibility,
    projects,
    transparency,
    hotDays,
    requirePublishedPolicy,
    personalKeys,
    laneRules,
    projectsMax,
    retention,
  } = value
  return {
    policyVisibility,
    projects,
    transparency,
    hotDays,
    requirePublishedPolicy,
    personalKeys: [...personalKeys],
    laneRules: laneRules.map(({ prefix, lane }) => ({ prefix, lane })),
    ...(projectsMax !== undefined && { projectsMax }),
    ...(retention !== undefined && { retention: [...retention] }),
  }
}

function taken(): LedgerError {
  return new LedgerError("conflict", "a workspace of this id exists already")
}
