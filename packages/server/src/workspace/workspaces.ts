// Workspaces: each has its own ledger, with an origin and a signing key that its first entry
// records.

import { canonicalize, ledgerId, toBase64Url, toHex, type JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { sealIdempotency, type Keyring } from "../secrets/keyring.ts"
import type { Random } from "../ledger/random.ts"
import { createOneAtATime } from "../runtime/one-at-a-time.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { WorkspaceDocument, WorkspaceSettings } from "../store/documents.ts"
import type { Document, ListPlace } from "../store/store.ts"
import { adminDraft, isConflict, recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { randomText } from "./credential-format.ts"
import { makeLogKey } from "./log-key-rotation.ts"
import { newProject } from "./projects.ts"

export interface WorkspaceRequest extends Partial<WorkspaceSettings> {
  readonly id: string
  readonly name?: string | undefined
}

export interface Workspaces {
  create(by: Principal, request: WorkspaceRequest): Promise<Document<"workspace">>
  /** Refuses with `not_found`. */
  get(id: string): Promise<Document<"workspace">>
  list(before: ListPlace | undefined, limit: number): Promise<readonly Document<"workspace">[]>
  change(
    by: Principal,
    id: string,
    request: Omit<WorkspaceRequest, "id">,
  ): Promise<Document<"workspace">>
}

export interface WorkspaceParts extends AdminParts {
  /** The host in the origin of new ledgers. Existing origins do not change. */
  readonly host: string
}

/** Every workspace starts with this project. */
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

export function createWorkspaces({
  registry,
  ledger,
  clock,
  keyring,
  host,
}: WorkspaceParts): Workspaces {
  const inTurn = createOneAtATime()

  const get = async (id: string): Promise<Document<"workspace">> => {
    const found = await registry.get("workspace", id, id)
    if (found === undefined) throw new LedgerError("not_found", "there is no such workspace")
    return found
  }

  return {
    get,
    list: (before, limit) => registry.list("workspace", undefined, before, limit),

    // Each creation brings a ledger of its own, and a commit takes one: the second waits and finds
    // the first.
    create: (by, request) => inTurn(request.id, () => createAlone(by, request)),

    async change(by, id, request) {
      const { name, ...settings } = request
      await recordPlanned(ledger, await get(id), async () => {
        const before = await get(id)
        const value = {
          ...before.value,
          ...definedOf(settings),
          ...(name === undefined ? {} : { name }),
        }
        const target = { id, type: "workspace", name: value.name }
        const said = adminDraft(
          by,
          "workspace.update",
          target,
          { ...definedOf(request) } as JsonObject,
          clock.now(),
        )
        return {
          said: [said],
          changes: [{ kind: "workspace", id, version: before.version, value }],
        }
      })
      return get(id)
    },
  }

  async function createAlone(
    by: Principal,
    { id, name, ...settings }: WorkspaceRequest,
  ): Promise<Document<"workspace">> {
    if ((await registry.get("workspace", id, id)) !== undefined) throw taken()
    const nowMs = clock.now()
    const createdAt = isoTime(nowMs)
    const genesis = makeGenesis(ledger.random, host, id, createdAt)
    const { origin } = genesis
    const made = ledgerId(canonicalize(genesis), sha256)
    const value: WorkspaceDocument = {
      name: name ?? id,
      createdAt,
      ...defaultSettings,
      ...definedOf(settings),
      genesis: canonicalize(genesis),
      ledgerId: toHex(made),
      origin,
      ...keptIdempotency(keyring, ledger.random, made),
    }
    const document: Document<"workspace"> = {
      kind: "workspace",
      workspace: id,
      id,
      version: 1,
      created: 0,
      value,
    }
    const { change: keyChange, vkey } = makeLogKey(keyring, ledger.random, { origin, createdAt })
    const project = newProject(by, { id: firstProject }, nowMs)
    const created = adminDraft(
      by,
      "workspace.create",
      { id, type: "workspace", name: value.name },
      { genesis, vkey, ...settingsOf(value) },
      nowMs,
    )
    try {
      await ledger.record(
        document,
        [created, project.said],
        [{ ...document, version: 0 }, keyChange, project.change],
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
  } = value
  const rules = laneRules.map(({ prefix, lane }) => ({ prefix, lane }))
  const all = {
    policyVisibility,
    projects,
    transparency,
    hotDays,
    requirePublishedPolicy,
    personalKeys: [...personalKeys],
    laneRules: rules,
  }
  return projectsMax === undefined ? all : { ...all, projectsMax }
}

function taken(): LedgerError {
  return new LedgerError("conflict", "a workspace of this id exists already")
}

/** Without undefined members, which would overwrite others in a spread. */
function definedOf<T extends object>(value: T): Partial<T> {
  // The result has members of `value` only.
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Partial<T>
}
