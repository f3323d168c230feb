// Replaces the secret: seals everything again, one workspace at a time, and puts what must outlive
// the old secret into the keyring. An interrupted rotation continues when it runs again. Meanwhile
// the service starts if it has both secrets.

import { assert, equalBytes, type JsonObject } from "@tallystick/proof"
import { allWorkspaces } from "./check-store.ts"
import { isoTime } from "../clock.ts"
import { StartError } from "../error.ts"
import {
  generationOf,
  idempotencyAnew,
  nextKeyring,
  sealAnew,
  type Keyring,
} from "../secrets/keyring.ts"
import { deriveKey } from "../secrets/crypto.ts"
import { epochsOf } from "../store/epochs.ts"
import { closing } from "../runtime/closing.ts"
import { logKeysMax } from "../store/log-keys.ts"
import { every } from "../store/all-documents.ts"
import { openStopped } from "../store/open-offline.ts"
import type { StorePlace } from "../store/open.ts"
import { changed, type Change, type Document, type Workspace } from "../store/documents.ts"
import type { Registry, Store } from "../store/store.ts"
import { recordPlanned, type Act, type AdminParts } from "../workspace/admin-entries.ts"
import { instanceWorkspace } from "../workspace/permissions.ts"
import { commitmentTo } from "../workspace/credential-format.ts"
import { targetOf } from "../workspace/members.ts"
import { makeInstance } from "../workspace/open-session.ts"
import { required } from "../workspace/required-document.ts"
import {
  anyLogKey,
  keptKeyring,
  keyringChange,
  openKeyring,
  type KeyringChange,
} from "../workspace/stored-keyring.ts"
import { passwordAnew } from "../workspace/sealed-passwords.ts"
import { administrationOf, withOfflineStore, type OfflineOptions } from "./offline-ledger.ts"
import { assertKeysWithTokens, type KeepingKey } from "./instance-key-tokens.ts"

export interface RotateSecretOptions extends OfflineOptions {
  readonly secret: Uint8Array
  readonly previous: Uint8Array
  readonly rootKeys: readonly KeepingKey[]
  /** Stores these secrets for the next start, the newest first. */
  readonly keep: (secrets: readonly Uint8Array[]) => void
  /** Called after each step that is on the disk. */
  readonly progress: (step: string) => void
}

export interface RotationResult {
  readonly generation: number
  /** The rotation was finished before; nothing was changed. */
  readonly wasOver: boolean
}

export async function rotateSecret(options: RotateSecretOptions): Promise<RotationResult> {
  const { secret, previous, keep, progress } = options
  const keyring = await look(options)
  const isNewest = equalBytes(keyring.secret, secret)
  const wasOver = isNewest && keyring.before === undefined
  if (!isNewest && keyring.before !== undefined)
    throw new StartError(
      "the unfinished rotation is to the secret in TALLYSTICK_SECRET_PREVIOUS: swap the two settings, and run this again",
    )
  if (!wasOver) {
    keep([secret, previous])
    progress("both secrets are kept")
    await withOfflineStore(options, async (store) =>
      resealAll(options, store, await begun(options, store, keyring)),
    )
    await rewriteDocuments(options)
    progress("everything sealed before is overwritten")
    await withOfflineStore(options, (store) => end(options, store))
    progress("the old secret opens nothing any more")
  }
  keep([secret])
  progress("the old secret is no longer kept")
  return { generation: isNewest ? keyring.generation : keyring.generation + 1, wasOver }
}

async function look({
  secret,
  previous,
  rootKeys,
  ...place
}: RotateSecretOptions): Promise<Keyring> {
  await using store = closing(await openStopped(place))
  const keyring = await openKeyring(store.registry, { secret, previous })
  if (keyring.before !== undefined) return keyring
  if (!equalBytes(keyring.secret, secret))
    await assertKeysWithTokens(store.registry, keyring, rootKeys)
  // The two settings are swapped, perhaps. Without this check, nobody would notice that nothing
  // was rotated.
  else if (
    !equalBytes(previous, secret) &&
    !isFormer(keyring, previous) &&
    (await anyLogKey(store.registry)) !== undefined
  )
    throw new StartError(
      "TALLYSTICK_SECRET is the secret of this data already, and TALLYSTICK_SECRET_PREVIOUS never was: to rotate, set TALLYSTICK_SECRET to the new secret and TALLYSTICK_SECRET_PREVIOUS to the current one",
    )
  return keyring
}

function isFormer({ peppers }: Keyring, secret: Uint8Array): boolean {
  const pepper = deriveKey(secret, "token pepper")
  return peppers.some((one) => equalBytes(one, pepper))
}

/**
 * Begins the rotation and returns the keyring of the new generation, under whose secret everything
 * is sealed from now on.
 */
async function begun(
  options: RotateSecretOptions,
  store: Store,
  keyring: Keyring,
): Promise<Keyring> {
  if (keyring.before !== undefined) return keyring
  const administration = administrationOf(options, store, keyring)
  const { registry, workspaces } = administration
  await makeInstance(registry, workspaces)
  const rootKeys = options.rootKeys.map(({ rootKey }) => rootKey)
  const next = nextKeyring(keyring, options.secret, rootKeys)
  await recordPlanned(administration, await workspaces.get(instanceWorkspace), async () =>
    keyringAct("rotate", keyringChange(next, await keptKeyring(registry), undefined)),
  )
  options.progress(`generation ${next.generation} has begun`)
  return next
}

/** Workspaces or accounts at once: they share a commit. */
const atOnce = 32

async function resealAll(
  options: RotateSecretOptions,
  store: Store,
  keyring: Keyring,
): Promise<void> {
  const administration = administrationOf(options, store, keyring)
  const { registry, workspaces } = administration
  const all = await allWorkspaces(registry)
  const accounts = await Array.fromAsync(
    every(registry, "member", instanceWorkspace),
    ({ id }) => id,
  )
  await eachOf(
    all,
    ({ id }) => reseal(administration, id),
    (done) => options.progress(`${done} of ${all.length} workspaces`),
  )
  const instance = await workspaces.get(instanceWorkspace)
  await eachOf(
    accounts,
    (id) => resealPassword(administration, instance, id),
    (done) => options.progress(`${done} of ${accounts.length} passwords`),
  )
}

async function eachOf<T>(
  all: readonly T[],
  act: (one: T) => Promise<void>,
  progress: (done: number) => void,
): Promise<void> {
  let done = 0
  for (let at = 0; at < all.length; at += atOnce) {
    await Promise.all(
      all.slice(at, at + atOnce).map(async (one) => {
        await act(one)
        progress(++done)
      }),
    )
  }
}

/** Seals again everything of one workspace, in one commit. */
async function reseal(parts: AdminParts, id: string): Promise<void> {
  const { registry, keyring } = parts
  const workspace = await required(registry, "workspace", id, id)
  await recordPlanned(parts, workspace, async () => {
    const keys = await registry.list("log-key", id, undefined, logKeysMax)
    const changes = [
      ...keys.flatMap((key) => keyAnew(keyring, key)),
      ...idempotencyChange(keyring, workspace),
    ]
    const { generation } = keyring
    return changes.length === 0 ? undefined : secretAct("reseal", { generation }, changes)
  })
}

/** The entry commits to the new sealed password, like every entry that replaces one. */
async function resealPassword(parts: AdminParts, instance: Workspace, id: string): Promise<void> {
  const { registry, keyring } = parts
  await recordPlanned(parts, instance, async () => {
    const account = await registry.get("member", instanceWorkspace, id)
    const anew = account === undefined ? undefined : passwordAnew(keyring, account.value)
    if (account === undefined || anew === undefined) return undefined
    return {
      by: { kind: "instance" },
      action: "security.password.reseal",
      target: targetOf(id, account.value),
      metadata: {
        before: commitmentTo(account.value.password),
        commitment: commitmentTo(anew.password),
      },
      changes: [changed(account, { ...account.value, ...anew })],
    } as const
  })
}

function keyAnew(keyring: Keyring, key: Document<"log-key">): readonly Change[] {
  const { vkey, wrapped: before } = key.value
  const wrapped = before === "" ? undefined : sealAnew(keyring, "log keys", vkey, before)
  return wrapped === undefined ? [] : [changed(key, { ...key.value, wrapped })]
}

function idempotencyChange(keyring: Keyring, workspace: Workspace): readonly Change[] {
  const epochs = epochsOf(workspace)
  const { ledgerId } = epochs.at(-1) ?? epochs[0]
  const idempotency = idempotencyAnew(keyring, ledgerId, workspace.value.idempotency)
  return idempotency === undefined ? [] : [changed(workspace, { ...workspace.value, idempotency })]
}

/**
 * Overwrites everything sealed under the old secret, even in free parts of pages: a backup copies
 * whole pages.
 */
async function rewriteDocuments(place: StorePlace): Promise<void> {
  await using store = closing(await openStopped(place))
  await store.rewriteDocuments()
}

async function end(options: RotateSecretOptions, store: Store): Promise<void> {
  const { registry } = store
  const { secret, previous } = options
  const keyring = await openKeyring(registry, { secret, previous })
  await assertResealed(registry, keyring)
  const administration = administrationOf(options, store, keyring)
  const instance = await administration.workspaces.get(instanceWorkspace)
  await recordPlanned(administration, instance, async (nowMs) =>
    keyringAct("retire", keyringChange(keyring, await keptKeyring(registry), isoTime(nowMs))),
  )
}

/** The last check before the old secret is thrown away. */
async function assertResealed(registry: Registry, keyring: Keyring): Promise<void> {
  for (const { id, value } of await allWorkspaces(registry)) {
    const keys = await registry.list("log-key", id, undefined, logKeysMax)
    const sealed = [
      value.idempotency ?? "",
      ...keys.flatMap((key) => (key.value.wrapped === "" ? [] : [key.value.wrapped])),
    ]
    assert(
      sealed.every((one) => generationOf(one) === keyring.generation),
      `workspace ${id} has nothing sealed under the former secret`,
    )
  }
  for await (const { id, value } of every(registry, "member", instanceWorkspace))
    assert(
      passwordAnew(keyring, value) === undefined,
      `the password of account ${id} is not sealed under the former secret`,
    )
}

function keyringAct(action: "rotate" | "retire", { change, recorded }: KeyringChange) {
  return secretAct(action, { ...recorded }, [change])
}

/** `rotate` begins a rotation, `reseal` is for one workspace, `retire` ends it. */
function secretAct(
  action: "rotate" | "reseal" | "retire",
  metadata: JsonObject,
  changes: readonly Change[],
): Act {
  return {
    by: { kind: "instance" },
    action: `security.secret.${action}`,
    target: { id: instanceWorkspace, type: "secret" },
    metadata,
    changes,
  }
}
