// Whom a credential speaks for. Each kind knows its own; here they are told apart.

import { LedgerError } from "../error.ts"
import type { CredentialDocumentKind } from "../store/documents.ts"
import type { Document, Registry } from "../store/store.ts"
import type { Principal } from "./permissions.ts"
import { parseCredential, sameText, type CredentialKind } from "./credential-format.ts"

/**
 * Of one kind of credential, by its id and its whole text. Undefined: unknown or wrong. What is
 * right, and over, is refused.
 */
export type Recognise = (id: string, text: string) => Promise<Principal | undefined>

/** A credential as it is kept, by its id alone. */
export async function keptCredential<K extends CredentialDocumentKind>(
  registry: Registry,
  kind: K,
  id: string,
): Promise<Document<K> | undefined> {
  const workspace = await registry.workspaceOf(kind, id)
  return workspace === undefined ? undefined : registry.get(kind, workspace, id)
}

/** The principal of a bearer credential; refuses one that is unknown, wrong, expired or revoked. */
export type Authenticate = (bearer: string) => Promise<Principal>

/** Any of the instance keys is as good as the others. */
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
