// API keys: the credentials of programs.

import type { NewApiKey } from "@tallystick/client/wire"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import {
  changed,
  created,
  type ApiKeyDocument,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import { nameOf, recordActs, recordPlanned, type Act, type AdminParts } from "./admin-entries.ts"
import type { Principal } from "./permissions.ts"
import { createMacs, issueCredential } from "./credential-format.ts"
import { keptCredential, type Recognise } from "./credential-lookup.ts"
import { createWithinLimit } from "./limited-documents.ts"
import { required } from "./required-document.ts"

export interface Keys {
  readonly recognise: Recognise
  create(
    by: Principal,
    workspace: Workspace,
    request: NewApiKey,
  ): Promise<{ readonly key: string; readonly document: Document<"api-key"> }>
  /** Revokes a key for ever. Does nothing if it is revoked already or does not exist. */
  revoke(by: Principal, workspace: Workspace, id: string): Promise<void>
}

export function createKeys(parts: AdminParts): Keys {
  const { registry, ledger, clock, keyring, limits } = parts
  const macs = createMacs(keyring.peppers)
  const withinLimit = createWithinLimit(registry, "api-key", limits.apiKeysMax, "API keys")

  return {
    async recognise(id, text) {
      const key = await keptCredential(registry, "api-key", id)
      return key !== undefined && macs.fits(text, key.value.mac) ? principalOf(key) : undefined
    },

    async create(by, workspace, { name, scopes, projectIds, expiresInSeconds }) {
      const nowMs = clock.now()
      const { id, token, mac, commitment } = issueCredential("k", ledger.random, macs.of)
      const bounds = {
        scopes: [...scopes],
        ...(projectIds !== undefined && { projectIds: [...projectIds] }),
        ...(expiresInSeconds !== undefined && {
          expiresAt: isoTime(nowMs + expiresInSeconds * 1000),
        }),
      }
      const times = { createdAt: isoTime(nowMs), createdBy: nameOf(by) }
      const value: ApiKeyDocument = { name, ...bounds, mac, ...times }
      const act = {
        by,
        action: "security.key.create",
        target: { id, type: "api_key", name },
        metadata: { ...bounds, commitment },
        changes: [created("api-key", id, value)],
      }
      await withinLimit(workspace.id, () => recordActs(ledger, workspace, [act], nowMs))
      return { key: token, document: await required(registry, "api-key", workspace.id, id) }
    },

    async revoke(by, workspace, id) {
      await recordPlanned(parts, workspace, async (nowMs) => {
        const key = await registry.get("api-key", workspace.id, id)
        return key === undefined || key.value.revokedAt !== undefined
          ? undefined
          : revocationOf(by, key, nowMs)
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

export function revocationOf(by: Principal, key: Document<"api-key">, nowMs: number): Act {
  return {
    by,
    action: "security.key.revoke",
    target: { id: key.id, type: "api_key", name: key.value.name },
    changes: [changed(key, { ...key.value, revokedAt: isoTime(nowMs) })],
  }
}
