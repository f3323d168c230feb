// Finds the accounts that an e-mail and a password may open. One e-mail can have many accounts,
// made by people who need not trust each other. A sign-in hashes e-mail and password once and uses
// the result as the index key, so only someone who knows an account's password reaches it. The
// index is in memory, built from the accounts' documents. Where other servers change them too, they
// are read again after a while. It finds candidates; it does not prove that a password is right.

import type { Account } from "../store/documents.ts"
import { every } from "../store/all-documents.ts"
import type { AdminParts } from "./admin-entries.ts"
import { instanceWorkspace } from "./permissions.ts"
import { settingsOf, type Passwords, type StretchedPassword } from "./password-hashes.ts"
import { openPassword, sealPassword } from "./sealed-passwords.ts"

export interface Logins {
  /**
   * Hashes a password once, with the settings that all accounts of the e-mail share: the same work
   * for no, one or many accounts.
   */
  stretch(email: string, password: string): Promise<StretchedPassword>
  /** Accounts that may have this password, oldest first. */
  accountsOf(stretched: StretchedPassword): readonly string[]
  /** The stored form of a password, for an account's document. */
  keep(
    stretched: StretchedPassword,
    id: string,
  ): { readonly password: string; readonly login: string }
}

/**
 * Accounts with the same e-mail and password that one sign-in opens. For more realms, a person
 * needs another password.
 */
export const accountsAtOnceMax = 20

export function createLogins(
  { registry, clock, keyring }: Pick<AdminParts, "registry" | "clock" | "keyring">,
  passwords: Passwords,
  personOf: (email: string) => string,
): Logins {
  const accounts = new Map<string, Set<string>>()
  /** Settings of e-mails whose accounts were made with another cost. */
  const former = new Map<string, string>()
  /** The stored password of each account in the index. An account that is made anew has another. */
  const taken = new Map<string, string>()
  let loaded: Promise<void> | undefined
  let loadedMs = 0

  const add = (login: string, id: string): void => {
    const known = accounts.get(login) ?? new Set()
    if (known.size === 0) accounts.set(login, known)
    known.add(id)
  }
  const load = (): Promise<void> => {
    const { staleMsMax } = registry
    const isStale = staleMsMax > 0 && clock.elapsed() - loadedMs >= staleMsMax
    if (loaded === undefined || isStale) {
      loadedMs = clock.elapsed()
      loaded = read().catch((error: unknown) => {
        loaded = undefined
        throw error
      })
    }
    return loaded
  }

  return {
    async stretch(email, password) {
      await load()
      const person = personOf(email)
      const stretched = await passwords.stretch(
        password,
        former.get(person) ?? settingsOf.person(person),
      )
      return { ...stretched, fits: (id, kept) => stretched.fits(id, openPassword(keyring, kept)) }
    },
    accountsOf: ({ login }) => [...(accounts.get(login) ?? [])],
    keep(stretched, id) {
      const { login } = stretched
      // Before the commit, because a superfluous candidate is rejected later, but a missing one
      // would be locked out.
      add(login, id)
      return {
        password: sealPassword(keyring, stretched.keep(id)),
        login: sealPassword(keyring, login),
      }
    },
  }

  async function read(): Promise<void> {
    const members: Account[] = []
    // Another server may have changed a few of very many, and to open a password takes long.
    for await (const member of every(registry, "member", instanceWorkspace))
      if (taken.get(member.id) !== member.value.password) members.push(member)
    for (const { id, value } of members.toReversed()) {
      const { email, ...kept } = value
      taken.set(id, kept.password)
      const password = openPassword(keyring, kept.password)
      const person = personOf(email)
      const settings = settingsOf.kept(password)
      if (settings === "") continue
      if (settings !== settingsOf.person(person)) former.set(person, settings)
      add(openPassword(keyring, kept.login), id)
    }
  }
}
