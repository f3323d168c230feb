import { rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { eventHash, parseRecord, type Kind } from "@tallystick/proof"
import { configOf } from "../../packages/server/src/cli/terminal.ts"
import { createBareLog } from "../../packages/server/src/log.ts"
import { runServe, type ServeCommand } from "../../packages/server/src/cli/serve-command.ts"
import type { Content } from "../../packages/server/src/store/opened-entry.ts"
import { sameRequest } from "../../packages/server/src/ledger/idempotency.ts"
import { systemClock } from "../../packages/server/src/clock.ts"
import { defaultLimits } from "../../packages/server/src/limits.ts"
import { sha256 } from "../../packages/server/src/runtime/sha256.ts"
import { openDatabase } from "../../packages/server/src/store/postgres/connection.ts"
import { createJournal } from "../../packages/server/src/store/postgres/journal.ts"
import { openFiling } from "../../packages/server/src/store/open.ts"
import { cacheRegistry } from "../../packages/server/src/store/cached-documents.ts"
import type { ApiKeyDocument, Document } from "../../packages/server/src/store/documents.ts"
import type { Group, Head, Outcome } from "../../packages/server/src/store/entries.ts"
import type { Registry, Store } from "../../packages/server/src/store/store.ts"

// The service with a fault in it:   node test/crash/faults.ts <fault>
//
// A suite that stays green on a planted bug tests nothing. The service must survive the faults
// marked "not a bug".

type Faults = NonNullable<ServeCommand["faults"]>

const faults = {
  "acknowledges before commit": { wrapStore: acknowledgeEarly },
  "commits without waiting": { wrapStore: commitWithoutWaiting },
  /** Not a bug: storage sometimes reports a failure, having stored all or nothing. */
  "storage fails": { wrapStore: (store) => failSometimes(store) },
  "storage fails, the head is kept": {
    wrapStore: (store) => keepHeads(failSometimes(store), store),
  },
  /** Not a bug either: commits take long, and requests wait. */
  "storage is slow": { wrapStore: slowDown },
  "storage is slow and fails": { wrapStore: (store) => failSometimes(slowDown(store)) },
  "hides a full disk": { wrapStore: hideFullDisk },
  "ignores errors": { wrapStore: ignoreErrors },
  "forgets keys": { wrapStore: forgetKeys },
  "ignores a field": { same: ignoreField },
  "forgets no document": {
    wrapStore: (store) => ({ ...store, registry: cacheRegistry(store.registry) }),
  },
  /** Not a bug: an error whose text holds secrets. */
  "storage tells secrets": { wrapStore: tellSecrets },
  "drops the last row": { wrapStore: dropLastRow },
  "chokes on emptiness": { wrapStore: chokeOnEmptiness },
  "finds late": { wrapStore: findLate },
  "takes a copy for the original": { wrapStore: (store) => ({ ...store, readOnly: undefined }) },
  "tells secrets and redacts nothing": {
    wrapStore: tellSecrets,
    createLog: (level, _, write) => createBareLog(level, write),
  },
  "destroys before it records": { wrapStore: destroyEarly },
  "forgets erasures": { wrapStore: forgetErasures },
  "forgets projects": { wrapStore: (store) => withKeys(store, ({ projectIds: _, ...key }) => key) },
} as const satisfies Record<string, Faults>

export type Fault = keyof typeof faults

if (import.meta.main) {
  const fault = process.argv[2] ?? ""
  if (!(fault in faults)) throw new Error(`there is no fault "${fault}"`)
  const exit = (code: number) => process.exit(code)
  await runServe({
    environment: process.env,
    version: "0.0.0",
    demo: false,
    exit,
    faults: faults[fault as Fault],
  })
}

function withAppend(store: Store, append: Store["journal"]["append"]): Store {
  return { ...store, journal: { ...store.journal, append } }
}

/** Changes client writes only: administrative acts are read back at once. */
function ofClients({ changes = [] }: Group): boolean {
  return changes.length === 0
}

const lateMs = 20
/** Longer than the load before a kill, so that some kills come in between on any machine. */
const earlyMs = 200

/** Says "done" a moment too early. Used keys are still found, so only a crash shows it. */
function acknowledgeEarly(store: Store): Store {
  const { journal } = store
  const last = new Map<string, Promise<unknown>>()
  return withAppend(store, async (group) => {
    const { workspace } = group
    const before = last.get(workspace)
    // Nothing links to this head, so nothing is stored: a used key is refused as used, everything
    // else as moved.
    const nowhere: Head = { sequence: 1, hash: new Uint8Array(32), timeMs: 0 }
    const looked = await journal.append({ workspace, entries: group.entries, from: nowhere })
    const honest = !ofClients(group) || looked.kind === "used"
    const stored = Promise.resolve(before)
      .then(() => (honest ? undefined : sleep(earlyMs)))
      .then(() => journal.append(group))
    last.set(
      workspace,
      stored.catch(() => {}),
    )
    return honest ? await stored : { kind: "done" }
  })
}

/** PostgreSQL answers before the commit is on the disk: past the check at the start. */
function commitWithoutWaiting(store: Store): Store {
  const url = process.env["TALLYSTICK_DATABASE_URL"] ?? ""
  const database = openDatabase({ url, connections: 4, isDerived: true })
  const lax = createJournal({
    database,
    isCluster: false,
    limits: defaultLimits,
    clock: systemClock,
    seen: () => undefined,
  })
  return withAppend(store, (group) => (ofClients(group) ? lax : store.journal).append(group))
}

const slowMs = 200

function slowDown(store: Store): Store {
  return withAppend(store, async (group) => {
    if (ofClients(group)) await sleep(slowMs)
    return await store.journal.append(group)
  })
}

const failsEvery = 8

function failSometimes(store: Store): Store {
  let appends = 0
  return withAppend(store, async (group) => {
    if (!ofClients(group)) return await store.journal.append(group)
    const place = ++appends % failsEvery
    if (place === 0) throw new Error("the storage failed before it stored anything")
    const outcome = await store.journal.append(group)
    if (place === failsEvery / 2) throw new Error("the storage failed after it had stored all")
    return outcome
  })
}

/** Trusts the heads that it saw before a failure, and appends at the end of any chain. */
function keepHeads(failing: Store, { journal: real }: Store): Store {
  const heads = new Map<string, Head>()
  const end = async (group: Group): Promise<Group> =>
    ofClients(group) ? { ...group, from: (await real.head(group.workspace)) ?? group.from } : group
  return {
    ...failing,
    journal: {
      ...failing.journal,
      head: async (workspace) => heads.get(workspace) ?? (await real.head(workspace)),
      async append(group) {
        const outcome = await failing.journal.append(await end(group))
        const { workspace, from, entries } = group
        const record = entries.at(-1)?.record
        if (outcome.kind === "done" && record !== undefined) {
          const timeMs = parseRecord(record)?.timeMs ?? 0
          heads.set(workspace, {
            sequence: from.sequence + entries.length,
            hash: eventHash(record, sha256),
            timeMs,
          })
        }
        return outcome
      },
    },
  }
}

/** Reports a refusal before the transaction like a failure within it. */
function hideFullDisk(store: Store): Store {
  return withAppend(store, (group) =>
    store.journal.append(group).catch((cause: unknown) => {
      throw new Error("something is wrong with the disk", { cause })
    }),
  )
}

/** Treats every result of the disk as "done". */
function ignoreErrors(store: Store): Store {
  return withAppend(store, async (group) => {
    const appended = store.journal.append(group)
    return await (ofClients(group) ? appended.catch((): Outcome => ({ kind: "done" })) : appended)
  })
}

/** A kill at most steps comes in between (killed-at-step.ts). */
const stepsBetween = 100

/** Destroys the bodies before it records the entry that says so. */
function destroyEarly(store: Store): Store {
  const { data, databaseUrl, archive } = configOf({ environment: process.env })
  return withAppend(store, async (group) => {
    for (const { kind, value } of group.changes ?? []) {
      if (kind !== "destroyed" || value === null) continue
      const filing = await openFiling({ data, databaseUrl, archive })
      await filing.content.destroyBodies(group.workspace, value.bodies)
      await filing.close()
      for (let step = 0; step < stepsBetween; step++)
        rmSync(join(data, "no-such-file"), { force: true })
    }
    return await store.journal.append(group)
  })
}

/** The next start does not find interrupted erasures. */
function forgetErasures(store: Store): Store {
  const grown: Store["grown"] = async function* () {}
  return { ...store, grown }
}

function forgetKeys(store: Store): Store {
  const forgotten = (group: Group): Group => ({
    ...group,
    entries: group.entries.map((entry) => ({ ...entry, idem: undefined })),
  })
  return withAppend(store, (group) => store.journal.append(forgotten(group)))
}

/** The workspace's name says which field: `ignores-metadata`. */
function ignoreField(kind: Kind, recorded: Content, asked: Content): boolean {
  const field = asked.workspaceId.replace("ignores-", "")
  return sameRequest(
    kind,
    recorded,
    field in recorded ? { ...asked, [field]: recorded[field as keyof Content] } : asked,
  )
}

function tellSecrets(store: Store): Store {
  return withAppend(store, async (group) => {
    if (ofClients(group))
      throw new Error(`${process.env["TALLYSTICK_ROOT_KEY"]} could not store ${bodiesOf(group)}`)
    return await store.journal.append(group)
  })
}

/** Takes every API key for another one. */
function withKeys(store: Store, taken: (key: ApiKeyDocument) => ApiKeyDocument): Store {
  const get: Registry["get"] = async (kind, workspace, id) => {
    const found = await store.registry.get(kind, workspace, id)
    if (found === undefined || kind !== "api-key") return found
    // The kind says that it is a key.
    const key = found as Document<"api-key">
    return { ...key, value: taken(key.value) } as typeof found
  }
  return { ...store, registry: { ...store.registry, get } }
}

/** Fails on one value that nobody thought of. */
function chokeOnEmptiness(store: Store): Store {
  return withAppend(store, async (group) => {
    if (ofClients(group) && /:(?:""|\[\])/.test(bodiesOf(group)))
      throw new TypeError("nothing has no first item")
    return await store.journal.append(group)
  })
}

function withFind(store: Store, find: Store["search"]["find"]): Store {
  return { ...store, search: { ...store.search, find } }
}

/** Drops a match of the last page, where no later page can have it. */
function dropLastRow(store: Store): Store {
  return withFind(store, async (...asked) => {
    const hits = await store.search.find(...asked)
    return hits === undefined || hits.hasMore
      ? hits
      : { ...hits, sequences: hits.sequences.slice(0, -1) }
  })
}

/** Does not search the most recent entries. */
function findLate(store: Store): Store {
  const seen = new Map<string, number>()
  return withFind(store, async (workspace, wanted, before, limit) => {
    const position = await store.search.position(workspace)
    const lastSequence = Math.min(wanted.lastSequence ?? position, seen.get(workspace) ?? position)
    setTimeout(() => seen.set(workspace, position), lateMs)
    return await store.search.find(workspace, { ...wanted, lastSequence }, before, limit)
  })
}

function bodiesOf({ entries }: Group): string {
  return entries.map(({ body }) => Buffer.from(body).toString()).join(" ")
}
