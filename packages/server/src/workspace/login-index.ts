// Which accounts an e-mail and a password may open. One e-mail can have many accounts, made by people who need not trust each other, so a
// sign-in does not walk through them: what the one costly hash makes of password and e-mail says where to look, and only those who know the
// password of an account can look there. Made of the accounts' documents, in memory; it says where, never that a password is right.

import type { Keyring } from "../secrets/keyring.ts"
import type { MemberDocument } from "../store/documents.ts"
import { every } from "../store/every.ts"
import type { Registry } from "../store/store.ts"
import { instanceWorkspace } from "./permissions.ts"
import { isUnbound, settingsOf, type Passwords, type Stretched } from "./password-hashes.ts"
import { openPassword, sealPassword } from "./sealed-passwords.ts"

export interface Logins {
  /** Hashes a password once, under the settings that all accounts of the e-mail share: the same work for one, several and none. */
  stretch(email: string, password: string): Promise<Stretched>
  /** Accounts that may have this password, oldest first. */
  accountsOf(stretched: Stretched): readonly string[]
  /** What is kept of a password in an account's document. */
  keep(stretched: Stretched, id: string): { readonly password: string; readonly login: string }
  /** As older versions kept it: of an account, but not bound to it. */
  isUnbound(kept: string): boolean
}

/** Accounts of one e-mail with one password that a sign-in opens. Who has the same password in more realms chooses another one for the rest. */
export const accountsAtOnceMax = 20

export function createLogins(registry: Registry, passwords: Passwords, keyring: Keyring, personOf: (email: string) => string): Logins {
  const accounts = new Map<string, Set<string>>()
  /** Of those e-mails whose accounts were made with a salt of their own, by an older version. */
  const former = new Map<string, string>()
  let loaded: Promise<void> | undefined

  const add = (login: string, id: string): void => {
    const known = accounts.get(login) ?? new Set()
    if (known.size === 0) accounts.set(login, known)
    known.add(id)
  }
  const load = (): Promise<void> =>
    (loaded ??= read().catch((error: unknown) => {
      loaded = undefined
      throw error
    }))

  return {
    async stretch(email, password) {
      await load()
      const person = personOf(email)
      const stretched = await passwords.stretch(password, former.get(person) ?? settingsOf.person(person))
      return { ...stretched, fits: (id, kept) => stretched.fits(id, openPassword(keyring, kept)) }
    },
    isUnbound: (kept) => isUnbound(openPassword(keyring, kept)),
    accountsOf: ({ login }) => [...(accounts.get(login) ?? [])],
    keep(stretched, id) {
      const { login } = stretched
      // Before it is committed: one account too many here is found out, one too few would be locked out.
      add(login, id)
      return { password: sealPassword(keyring, stretched.keep(id)), login: sealPassword(keyring, login) }
    },
  }

  async function read(): Promise<void> {
    const members: (readonly [string, MemberDocument])[] = []
    for await (const { id, value } of every(registry, "member", instanceWorkspace)) members.push([id, value])
    for (const [id, { email, ...kept }] of members.toReversed()) {
      const password = openPassword(keyring, kept.password)
      const login = kept.login === undefined ? undefined : openPassword(keyring, kept.login)
      const person = personOf(email)
      const settings = settingsOf.kept(password)
      if (settings === "") continue
      if (settings !== settingsOf.person(person)) former.set(person, settings)
      add(login ?? settingsOf.formerLogin(password), id)
    }
  }
}
