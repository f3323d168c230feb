// API keys: the credentials of programs.

import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { ApiKeyDocument, Scope } from "../store/documents.ts"
import type { Document, ListPlace } from "../store/store.ts"
import { adminDraft, nameOf, recordPlanned, type Act, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { commitmentTo, createMacs, formatCredential, makeCredential } from "./credential-format.ts"
import { keptCredential, type Recognise } from "./credential-lookup.ts"

export interface KeyRequest {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly projectIds?: readonly string[] | undefined
  readonly expiresInSeconds?: number | undefined
}

export interface Keys {
  readonly recognise: Recognise
  create(
    by: Principal,
    workspace: Document<"workspace">,
    request: KeyRequest,
  ): Promise<{ readonly key: string; readonly document: Document<"api-key"> }>
  list(
    workspace: string,
    before: ListPlace | undefined,
    limit: number,
  ): Promise<readonly Document<"api-key">[]>
  /** Revokes a key for ever. Does nothing if it is revoked already or does not exist. */
  revoke(by: Principal, workspace: Document<"workspace">, id: string): Promise<void>
}

export function createKeys({ registry, ledger, clock, keyring }: AdminParts): Keys {
  const macs = createMacs(keyring.peppers)

  return {
    async recognise(id, text) {
      const found = await keptCredential(registry, "api-key", id)
      return found !== undefined && macs.fits(text, found.value.mac)
        ? principalOf(found)
        : undefined
    },

    async create(by, workspace, { name, scopes, projectIds, expiresInSeconds }) {
      const nowMs = clock.now()
      const credential = makeCredential("k", ledger.random)
      const key = formatCredential(credential)
      const expiresAt =
        expiresInSeconds === undefined
          ? {}
          : { expiresAt: isoTime(nowMs + expiresInSeconds * 1000) }
      const bounds = {
        scopes: [...scopes],
        ...(projectIds === undefined ? {} : { projectIds: [...projectIds] }),
        ...expiresAt,
      } satisfies JsonObject
      const value: ApiKeyDocument = {
        name,
        ...bounds,
        mac: macs.of(key),
        createdAt: isoTime(nowMs),
        createdBy: nameOf(by),
      }
      const recorded = { ...bounds, commitment: commitmentTo(value.mac) }
      const said = adminDraft(
        by,
        "security.key.create",
        { id: credential.id, type: "api_key", name },
        recorded,
        nowMs,
      )
      await ledger.record(
        workspace,
        [said],
        [{ kind: "api-key", id: credential.id, version: 0, value }],
      )
      const document = await registry.get("api-key", workspace.id, credential.id)
      if (document === undefined) throw new Error("a key that was just recorded is not there")
      return { key, document }
    },

    list: (workspace, before, limit) => registry.list("api-key", workspace, before, limit),

    async revoke(by, workspace, id) {
      await recordPlanned(ledger, workspace, async () => {
        const found = await registry.get("api-key", workspace.id, id)
        if (found === undefined || found.value.revokedAt !== undefined) return undefined
        return revocationOf(by, found, clock.now())
      })
    },
  }

  function principalOf({ id, workspace, value }: Document<"api-key">): Principal {
    if (value.revokedAt !== undefined)
      throw new LedgerError("token_revoked", "this key was revoked")
    if (value.expiresAt !== undefined && Date.parse(value.expiresAt) <= clock.now())
      throw new LedgerError("token_expired", "this key has expired")
    return { kind: "api-key", id, workspace, scopes: value.scopes, projectIds: value.projectIds }
  }
}

export function revocationOf(
  by: Principal,
  { id, version, value: before }: Document<"api-key">,
  nowMs: number,
): Act {
  const said = adminDraft(
    by,
    "security.key.revoke",
    { id, type: "api_key", name: before.name },
    {},
    nowMs,
  )
  const value = { ...before, revokedAt: isoTime(nowMs) }
  return { said: [said], changes: [{ kind: "api-key", id, version, value }] }
}
