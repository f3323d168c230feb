// Finds the principal of a credential. Each kind of credential has its own look-up.

import { LedgerError } from "../error.ts"
import type { CredentialDocumentKind, Document } from "../store/documents.ts"
import type { Registry } from "../store/store.ts"
import type { Principal } from "./permissions.ts"
import { parseCredential, sameText, type CredentialKind } from "./credential-format.ts"

/**
 * Looks up one kind of credential by id and text. Undefined if it is unknown or wrong. Throws if it
 * is revoked or has expired.
 */
export type Recognise = (id: string, text: string) => Promise<Principal | undefined>

/** The document of a credential, by the id alone. */
export async function keptCredential<K extends CredentialDocumentKind>(
  registry: Registry,
  kind: K,
  id: string,
): Promise<Document<K> | undefined> {
  const workspace = await registry.workspaceOf(kind, id)
  return workspace === undefined ? undefined : registry.get(kind, workspace, id)
}

/** The principal of a bearer credential. Throws if it is unknown, wrong, expired or revoked. */
export type Authenticate = (bearer: string) => Promise<Principal>

/** All instance keys have the same rights. */
export function createAuthenticate(
  rootKeys: readonly string[],
  kinds: Readonly<Partial<Record<CredentialKind, Recognise>>>,
): Authenticate {
  return async (bearer) => {
    const credential = parseCredential(bearer)
    const known =
      credential === undefined ? undefined : await kinds[credential.kind]?.(credential.id, bearer)
    if (known !== undefined) return known
    if (rootKeys.some((rootKey) => sameText(bearer, rootKey))) return { kind: "instance" }
    throw new LedgerError("unauthorized", "the credential is malformed, unknown or wrong")
  }
}
