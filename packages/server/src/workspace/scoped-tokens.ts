// Scoped tokens: each gives read access to one thing for a limited time, and never outlives its
// maker. Tokens cannot create tokens. Documents of ended tokens stay: an old link answers that it
// has expired, and administrators see what was handed out.

import type { NewToken } from "@tallystick/client/wire"
import type { JsonObject } from "@tallystick/proof"
import { isoTime } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { instanceKeyName, livingNames } from "../secrets/keyring.ts"
import {
  changed,
  created,
  type TokenBound,
  type TokenDocument,
  type Document,
  type Workspace,
} from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import { recordActs, recordPlanned, type AdminParts } from "./admin-entries.ts"
import type { Principal, TokenType } from "./permissions.ts"
import {
  commitmentTo,
  createMacs,
  issueCredential,
  type CredentialKind,
} from "./credential-format.ts"
import { keptCredential, type Recognise } from "./credential-lookup.ts"
import { createWithinLimit } from "./limited-documents.ts"
import { belongedSince } from "./members.ts"
import { required } from "./required-document.ts"

export interface Tokens {
  readonly recognise: Recognise
  /**
   * The caller checks that `by` may see what the token is bound to. The token expires with its
   * maker, if that is earlier.
   */
  create(
    by: Principal,
    workspace: Workspace,
    bound: TokenBound,
    request: NewToken,
  ): Promise<{ readonly token: string; readonly document: Document<"token"> }>
  stateOf(document: Document<"token">): Promise<TokenState>
  /** Revokes a token for ever. Does nothing if it is revoked already or does not exist. */
  revoke(by: Principal, workspace: Workspace, id: string): Promise<void>
}

export interface TokenParts extends AdminParts {
  /** The valid instance keys, newest first. */
  readonly rootKeys: readonly [string, ...string[]]
}

/** A token is also `revoked` if its maker is revoked or has left the workspace. */
export type TokenState = "live" | "revoked" | "expired"

export const tokenLetters = {
  receipt: "r",
  policy: "p",
  activity: "a",
  evidence: "e",
} as const satisfies Record<TokenType, CredentialKind>

const day = 86_400

/**
 * In seconds. A link to one's own activity is opened at once; a link to a receipt is sent to
 * somebody.
 */
export const tokenLives: Readonly<
  Record<TokenType, { readonly usual: number; readonly longest: number }>
> = {
  receipt: { usual: 7 * day, longest: 90 * day },
  policy: { usual: 30 * day, longest: 365 * day },
  activity: { usual: day, longest: 30 * day },
  evidence: { usual: 7 * day, longest: 90 * day },
}

export function createTokens({ rootKeys, ...parts }: TokenParts): Tokens {
  const { registry, ledger, clock, keyring, limits } = parts
  const macs = createMacs(keyring.peppers)
  const withinLimit = createWithinLimit(registry, "token", limits.tokensMax, "tokens")
  // A new instance key ends the tokens of the former one, unless it was rotated with the choice to
  // keep them.
  const instanceMac = instanceKeyName(keyring.secret, rootKeys[0])
  const living = livingNames(keyring, rootKeys)

  return {
    stateOf,

    async recognise(id, text) {
      const token = await keptCredential(registry, "token", id)
      if (token === undefined || !macs.fits(text, token.value.mac)) return undefined
      const state = await stateOf(token)
      if (state === "revoked")
        throw new LedgerError("token_revoked", "this token, or whoever made it, was revoked")
      if (state === "expired") throw new LedgerError("token_expired", "this token has expired")
      return { kind: "token", id, workspace: token.workspace, bound: token.value.bound }
    },

    async create(by, workspace, bound, { note, expiresInSeconds = tokenLives[bound.type].usual }) {
      const nowMs = clock.now()
      const letter = tokenLetters[bound.type]
      const { id, token, mac, commitment } = issueCredential(letter, ledger.random, macs.of)
      const minter = minterOf(by, instanceMac)
      const endMs = await endOf(registry, workspace.id, minter)
      const expiresAt = isoTime(Math.min(nowMs + expiresInSeconds * 1000, endMs))
      const times = { createdAt: isoTime(nowMs), expiresAt }
      const value = { bound, ...(note !== undefined && { note }), ...times, minter, mac }
      // The instance key that made the token decides whether it lives.
      const minted = minter.kind === "instance" ? { minter: commitmentTo(minter.mac) } : {}
      const act = {
        by,
        action: "security.token.create",
        target: targetOf(id, note),
        metadata: { ...boundJson(bound), expiresAt, ...minted, commitment },
        changes: [created("token", id, value)],
      }
      await withinLimit(workspace.id, () => recordActs(ledger, workspace, [act], nowMs))
      return { token, document: await required(registry, "token", workspace.id, id) }
    },

    async revoke(by, workspace, id) {
      await recordPlanned(parts, workspace, async (nowMs) => {
        const token = await registry.get("token", workspace.id, id)
        if (token === undefined || token.value.revokedAt !== undefined) return undefined
        return {
          by,
          action: "security.token.revoke",
          target: targetOf(id, token.value.note),
          metadata: boundJson(token.value.bound),
          changes: [changed(token, { ...token.value, revokedAt: isoTime(nowMs) })],
        }
      })
    },
  }

  async function stateOf({ workspace, value }: Document<"token">): Promise<TokenState> {
    if (value.revokedAt !== undefined || !(await minterLives(workspace, value))) return "revoked"
    return Date.parse(value.expiresAt) <= clock.now() ? "expired" : "live"
  }

  async function minterLives(
    workspace: string,
    { minter, createdAt }: TokenDocument,
  ): Promise<boolean> {
    switch (minter.kind) {
      case "instance":
        return living.has(minter.mac)
      case "api-key": {
        const key = await registry.get("api-key", workspace, minter.id)
        return key !== undefined && key.value.revokedAt === undefined
      }
      case "member":
        // A member who left and was invited again must not revive the tokens from before.
        return belongedSince(registry, workspace, minter.id, createdAt)
    }
  }
}

/** When the maker of a token expires, in milliseconds. */
async function endOf(
  registry: Registry,
  workspace: string,
  minter: TokenDocument["minter"],
): Promise<number> {
  const key =
    minter.kind === "api-key" ? await registry.get("api-key", workspace, minter.id) : undefined
  return key?.value.expiresAt === undefined ? Infinity : Date.parse(key.value.expiresAt)
}

function minterOf(by: Principal, instanceMac: string): TokenDocument["minter"] {
  switch (by.kind) {
    case "instance":
      return { kind: "instance", mac: instanceMac }
    case "api-key":
      return { kind: "api-key", id: by.id }
    case "member":
      return { kind: "member", id: by.id }
    case "token":
      throw new Error("tokens mint nothing")
  }
}

/**
 * A token as the target of an entry. Its note may name a person, and the service's entries do not
 * seal names, so the note is a member of its own.
 */
function targetOf(id: string, note: string | undefined) {
  return { id, type: "token", ...(note !== undefined && { note }) }
}

function boundJson(bound: TokenBound): JsonObject {
  if (bound.type !== "activity") return { ...bound }
  const { id, types } = bound.subject
  return { ...bound, subject: { id, types: [...types] } }
}
