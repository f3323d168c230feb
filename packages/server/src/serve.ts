// Wires the service: store → ledger → followers → http, and closes it in reverse.

import type { Log } from "./log.ts"
import { closing } from "./runtime/closing.ts"
import { createFairQueue } from "./runtime/fair-queue.ts"
import { checkStore, clockBackMs, type CheckedStore } from "./operator/check-store.ts"
import { isoTime, systemClock } from "./clock.ts"
import { httpUrl, shownSettings, type Config } from "./config.ts"
import { LedgerError, usualError } from "./error.ts"
import { exportBeside, type ExportingBeside } from "./threads/exporting-thread.ts"
import type { Archiver } from "./lifetime/archiver.ts"
import { fileBeside, type FilingBeside } from "./threads/filing-thread.ts"
import type { Erasing } from "./lifetime/erasing.ts"
import type { Sighting } from "./followers/watching.ts"
import { createLists } from "./http/lists.ts"
import { createMetrics, type Metrics } from "./http/metrics.ts"
import { createRates } from "./http/rates.ts"
import { createBuiltPages } from "./http/built-pages.ts"
import type { HttpServer } from "./http/server.ts"
import type { Service } from "./http/service.ts"
import { createSignIns } from "./http/sign-ins.ts"
import { removeUnplaced, type Secrets } from "./operator/secret-files.ts"
import type { Keyring } from "./secrets/keyring.ts"
import type { Limits } from "./limits.ts"
import { createLedger, type LedgerParts } from "./ledger/ledger.ts"
import { freeBytesAt } from "./runtime/folder-size.ts"
import { createPace } from "./runtime/pace.ts"
import { repeatedly } from "./runtime/repeatedly.ts"
import { createCheckpoints, createIsGenuine } from "./query/verified-checkpoints.ts"
import { createFinding, type Finding } from "./query/search-scheduling.ts"
import { createLeaves } from "./query/verified-leaves.ts"
import type { VerificationSource } from "./query/verified-entries.ts"
import { createFeed } from "./query/entry-feed.ts"
import { createQueries } from "./query/entry-queries.ts"
import { isSealedBy } from "./store/log-keys.ts"
import { openStore, requireNoCommand, type StorePlace } from "./store/open.ts"
import type { Store } from "./store/store.ts"
import { createAccounts } from "./workspace/accounts.ts"
import { createCascade } from "./workspace/cascading-revocation.ts"
import { createAuthenticate } from "./workspace/credential-lookup.ts"
import { createCredentialUses, type CredentialUses } from "./workspace/credential-uses.ts"
import { createKeys } from "./workspace/api-keys.ts"
import { createLogKeys } from "./workspace/log-key-rotation.ts"
import { openKeyring, requireSameBeginning } from "./workspace/stored-keyring.ts"
import { createEntryExports } from "./workspace/entry-exports.ts"
import { createPacks } from "./workspace/evidence-packs.ts"
import { createPolicies } from "./workspace/policies.ts"
import { createMembers } from "./workspace/members.ts"
import { createProjects } from "./workspace/projects.ts"
import { createSessions } from "./workspace/sessions.ts"
import { createTokens } from "./workspace/scoped-tokens.ts"
import { createWorkspaces, type WorkspaceParts } from "./workspace/workspaces.ts"
import { createRecordIntegrityFailure } from "./workspace/integrity-entries.ts"
import { createHealth, createSuspicions, reportsOf, type Health } from "./followers/health.ts"
import { watchBeside, type WatchingBeside } from "./threads/watching-thread.ts"
import { archive, beginErasing, createLifetime, expireDaily } from "./serve-lifetime.ts"
import { listen } from "./http/listen.ts"

export interface Running {
  /** The address that clients use. */
  readonly url: string
  /** The address that the service listens on. A proxy may be in front of it. */
  readonly listensOn: string
  readonly service: Service
  /** Stops accepting requests, finishes the accepted ones, and closes the data. */
  close(): Promise<void>
}

export interface ServeOptions {
  readonly log: Log
  readonly version: string
  /** The state of storage is unknown: the process must end. */
  readonly onFatal: (cause: Error) => void
  /** For tests of failures: wraps the real store, and replaces the comparison of requests. */
  readonly wrapStore?: (store: Store) => Store
  readonly same?: LedgerParts["same"]
}

export async function serve(
  config: Config,
  secrets: Secrets,
  options: ServeOptions,
): Promise<Running> {
  let told = -entriesPerLine
  // Closed when the store has connections of its own, by which commands find it.
  await using _noCommand = closing(await requireNoCommand(config))
  const opened = await openStore(config, options.onFatal, (done, entries) => {
    if (done - told < entriesPerLine && done !== entries) return
    told = done
    options.log.info({ done, entries }, "upgrading the data to the layout of this version")
  })
  const store = options.wrapStore?.(opened) ?? opened
  try {
    removeUnplaced(config.data)
    const keyring = await openKeyring(store.registry, secrets)
    await requireSameBeginning(store, keyring)
    tellSecrets(options.log, config, secrets, keyring)
    const checked = await checkStore(store, config.heads, placeOf(config), config.limits)
    tellMissing(options.log, config.heads, checked)
    tellClock(options.log, checked)
    const { rootKey, previousRootKey } = secrets
    const rootKeys: RootKeys =
      previousRootKey === undefined ? [rootKey] : [rootKey, previousRootKey]
    return await start(config, rootKeys, keyring, options, store, checked)
  } catch (error) {
    await store.close()
    throw error
  }
}

function tellMissing(log: Log, heads: string, { missing }: CheckedStore): void {
  if (missing.length === 0) return
  const origins = missing.slice(0, toldOriginsMax)
  log.warn(
    { heads, ledgers: missing.length, origins },
    "ledgers that were signed are not in this data",
  )
}

function tellClock(log: Log, { newestMs = 0 }: CheckedStore): void {
  if (newestMs > systemClock.now() + clockBackMs)
    log.warn(
      { newest: isoTime(newestMs) },
      "the clock is behind the newest entry, and until it passes that time, every entry gets that time: set it right",
    )
}

type RootKeys = readonly [string, ...string[]]

/** The old secret has an effect only during a rotation. */
function tellSecrets(
  log: Log,
  { previousSecret }: Config,
  { secret, previous }: Secrets,
  { before, ...keyring }: Keyring,
): void {
  if (previous === undefined || before !== undefined) return
  if (keyring.secret === previous)
    log.warn("the secret was not rotated yet: stop the service, and run `tallystick secret rotate`")
  else if (keyring.secret === secret)
    log.warn(
      previousSecret === undefined
        ? "the secret is rotated, and the data folder still holds the old one: stop the service, and run `tallystick secret rotate` once more, which removes it"
        : "the secret is rotated: TALLYSTICK_SECRET_PREVIOUS has no effect any more, remove it",
    )
}

/** The log names at most this many missing ledgers. */
const toldOriginsMax = 10
/** About a line a second. */
const entriesPerLine = 100_000

async function start(
  config: Config,
  rootKeys: RootKeys,
  keyring: Keyring,
  options: ServeOptions,
  store: Store,
  { readOnly, newestMs }: CheckedStore,
): Promise<Running> {
  const [{ log, version }, { limits }] = [options, config]
  const address = { url: config.publicUrl ?? httpUrl(config.host, config.port) }
  const metrics = metricsOf(config, version, store, () => ledger.admission.entries)
  const leaves = createLeaves(store, limits)
  const isGenuine = createIsGenuine(store.registry, isSealedBy(keyring))
  const checkpoints = createCheckpoints({ store, leaves, isGenuine })
  const health = createHealth(metrics, log, (checkpoint) => checkpoints.signed(checkpoint))
  const watching = await watch(config, store, keyring, options, health.see, readOnly)
  const filing = fileAndPack(config, store, metrics, options, readOnly)
  const { journal, registry, search } = store
  const writing = { journal, registry, clock: systemClock, limits, keyring, report: metrics }
  const ledger = createLedger({ ...writing, ...(options.same && { same: options.same }) })
  const source = sourceOf(store, { checkpoints, leaves }, health, watching)
  const others = hearOthers(store, source.suspect)
  const seal = (workspace: string) => watching.seal(workspace)
  const file = (workspace: string) => filing.catchUp(workspace)
  const finding = createFinding({ search, clock: systemClock, limits, file })
  const parts = { registry, ledger, clock: systemClock, keyring, limits }
  const administration = createAdministration({ ...parts, host: hostOf(address) }, rootKeys)
  const [{ workspaces }, pages] = [administration, createBuiltPages()]
  const reads = createReads({ source, store, finding, workspaces, limits }, options.onFatal)
  const uses = usesOf(store, watching, log)
  const paced = { ...parts, pace: reads.pace }
  const lifetime = createLifetime(paced, store, filing, { metrics, log })
  const named = { store, file, filing, workspaces, log, metrics }
  const erasureParts = { ...paced, ...lifetime, ...named }
  const { erasures, erasing } = await beginErasing(config, erasureParts, readOnly)
  const exporter = exporterOf(config, keyring, health, source, options)
  const service: Service = {
    store,
    ...reads,
    erasures,
    erasing,
    uses,
    ledger,
    limits,
    signIns: createSignIns(systemClock, limits),
    ...administration,
    ...lifetime,
    lists: createLists(keyring.secret),
    rates: createRates(systemClock, limits, config.keyRequestsPerMinute),
    source,
    logKeys: createLogKeys({ ...parts, journal, checkpoints, seal }),
    packs: createPacks({ ...parts, ...pages, store, checkpoints, seal, pace: reads.pace }),
    entryExports: createEntryExports({ ...parts, ...reads, store, exporter, report: metrics }),
    clock: systemClock,
    metrics,
    seal,
    health,
    program: programOf(config, version),
    halted: (workspace = "") => haltOf(readOnly, health.broken.has(workspace)),
    get publicUrl() {
      return address.url
    },
  }
  const listening = listen(config, service, pages, { ...options, readOnly: readOnly !== undefined })
  const { server, port } = await listening.catch(afterClosing(erasing))
  const listensOn = httpUrl(config.host, port)
  if (config.publicUrl === undefined) address.url = listensOn
  health.recordWith(createRecordIntegrityFailure({ ...parts, workspaces }))
  const expiring = expireDaily(service, newestMs, log)
  const archives = config.archives && readOnly === undefined
  const archiver = archive({ ...parts, journal, ...filing }, service, filing, log, archives)
  const disk = watchDisk(config, log)
  const beside = { erasing, expiring, health, archiver, watching, filing, exporter, disk }
  return {
    url: address.url,
    listensOn,
    service,
    close: () => stop({ ...service, ...beside, server, others }),
  }
}

type Stopped = Pick<Service, "store" | "feed" | "ledger" | "uses"> & {
  readonly others: ReturnType<typeof hearOthers>
  readonly disk: ReturnType<typeof watchDisk>
  readonly server: HttpServer
  readonly erasing: Erasing
  readonly expiring: ReturnType<typeof expireDaily>
  readonly archiver: Archiver | undefined
  readonly health: Health
  readonly watching: WatchingBeside
  readonly filing: FilingBeside
  readonly exporter: ExportingBeside
}

async function stop(parts: Stopped): Promise<void> {
  parts.others.close()
  parts.disk.close()
  // Feeds would wait for entries that will not come.
  parts.feed.close()
  await parts.server.close()
  await Promise.all([parts.erasing.close(), parts.expiring.close()])
  // Its work in the other thread ends with that thread.
  await Promise.race([parts.archiver?.close(), systemClock.sleep(archiverCloseMs)])
  parts.health.close()
  await parts.ledger.sequencer.drained()
  await parts.uses.save()
  await Promise.all([parts.watching.close(), parts.filing.close(), parts.exporter.close()])
  await parts.store.close()
}

function hostOf({ url }: { readonly url: string }): string {
  return new URL(url).hostname
}

function placeOf({ data, databaseUrl, archive }: Config): StorePlace {
  return { data, databaseUrl, archive }
}

function exporterOf(
  config: Config,
  keyring: Keyring,
  { broken }: Health,
  { suspect }: Pick<VerificationSource, "suspect">,
  { onFatal }: ServeOptions,
): ExportingBeside {
  const halted = () => new Map([...broken].map(([id, { sequence }]) => [id, sequence]))
  return exportBeside({ place: placeOf(config), keyring }, halted, suspect, onFatal)
}

function usesOf({ index }: Store, watching: WatchingBeside, log: Log): CredentialUses {
  return createCredentialUses({
    clock: systemClock,
    read: (ids) => index.uses(ids),
    write: (uses) => watching.putUses(uses),
    failed: (error) => log.error({ err: error }, "last uses of credentials could not be stored"),
  })
}

function programOf(config: Config, version: string): Service["program"] {
  const settings = shownSettings(config)
  return { version, startedMs: systemClock.now(), data: config.data, settings }
}

function sourceOf(
  store: Store,
  trusted: Pick<VerificationSource, "checkpoints" | "leaves">,
  { broken }: Health,
  watching: WatchingBeside,
): VerificationSource {
  const report = (workspace: string, sequence: number) => watching.suspect(workspace, sequence)
  const suspect = createSuspicions(systemClock, (workspace) => broken.has(workspace), report)
  return {
    ...store,
    ...trusted,
    haltedFrom: (workspace) => broken.get(workspace)?.sequence,
    suspect,
  }
}

const hearEveryMs = 3000

/**
 * Checks the findings of other servers' auditors here as well, so that no server appends after a
 * broken entry.
 */
function hearOthers(
  { findings }: Store,
  suspect: VerificationSource["suspect"],
): { close(): void } {
  if (findings === undefined) return { close() {} }
  return repeatedly(systemClock, hearEveryMs, async () => {
    for (const { workspace, sequence } of await findings()) suspect(workspace, sequence)
  })
}

const diskEveryMs = 5000

/** Logs when the disk's reserve is reached, and when it is free again. */
function watchDisk(
  { data, databaseUrl, limits: { diskReserveBytes: reserveBytes } }: Config,
  log: Log,
): { close(): void } {
  if (databaseUrl !== undefined) return { close() {} }
  let wasFull = false
  return repeatedly(systemClock, diskEveryMs, async () => {
    const freeBytes = await freeBytesAt(data)
    const isFull = freeBytes <= reserveBytes
    if (isFull && !wasFull)
      log.error({ freeBytes, reserveBytes }, "the disk is nearly full, so writes are refused")
    else if (wasFull && !isFull)
      log.info({ freeBytes, reserveBytes }, "the disk has space again, and writes are accepted")
    wasFull = isFull
  })
}

/** Otherwise an erasure that finds the store closed would be logged as a failure. */
function afterClosing({ close }: Pick<Erasing, "close">): (error: unknown) => Promise<never> {
  return async (error) => {
    await close()
    throw error
  }
}

function createAdministration(parts: WorkspaceParts, rootKeys: RootKeys) {
  const workspaces = createWorkspaces(parts)
  const keys = createKeys(parts)
  const tokens = createTokens({ ...parts, rootKeys })
  const { recognise } = tokens
  return {
    workspaces,
    keys,
    tokens,
    authenticate: createAuthenticate(rootKeys, {
      k: keys.recognise,
      r: recognise,
      p: recognise,
      a: recognise,
      e: recognise,
    }),
    projects: createProjects(parts),
    policies: createPolicies(parts),
    members: createMembers(parts),
    cascade: createCascade(parts),
    accounts: createAccounts({ ...parts, workspaces }),
    sessions: createSessions(parts),
  }
}

interface ReadParts extends Pick<Service, "source" | "store" | "workspaces" | "limits"> {
  readonly finding: Finding
}

function createReads(
  { source, store, finding, workspaces, limits }: ReadParts,
  onDeath: (cause: Error) => void,
): Pick<Service, "reading" | "pace" | "queries" | "feed"> {
  const reading = createReading(limits)
  const pace = createPace(systemClock, limits.pieceMs)
  const { registry } = store
  const queries = createQueries({
    store: { ...source, registry },
    finding,
    reading,
    pace,
    clock: systemClock,
    limits,
  })
  const feed = createFeed({
    queries,
    pace,
    limits,
    clock: systemClock,
    grown: (end) => store.grown(end),
    workspaceOf: (id) => workspaces.get(id),
    onDeath,
  })
  return { reading, pace, queries, feed }
}

function createReading(limits: Limits): Service["reading"] {
  return createFairQueue(systemClock, {
    atOnceMax: limits.readsAtOnceMax,
    perWorkspaceMax: limits.readsOfWorkspaceMax,
    waitingMax: limits.readsWaitingMax,
    waitMs: limits.readWaitMs,
    of: "pages and receipts",
  })
}

async function watch(
  config: Config,
  store: Store,
  keyring: Keyring,
  { log, onFatal }: ServeOptions,
  see: (sighting: Sighting) => void,
  readOnly: string | undefined,
): Promise<WatchingBeside> {
  if (readOnly === undefined) {
    const { heads: headsPath, limits } = config
    const options = { place: placeOf(config), headsPath, keyring, limits }
    return await watchBeside(options, store, see, onFatal)
  }
  log.error(readOnly)
  return notWatching
}

/** Longer than writing a segment into a folder takes. */
const archiverCloseMs = 1000

function fileAndPack(
  config: Config,
  store: Store,
  metrics: Metrics,
  { log, onFatal }: ServeOptions,
  readOnly: string | undefined,
): FilingBeside {
  const packs = readOnly === undefined
  const options = { place: placeOf(config), limits: config.limits, packs }
  return fileBeside(options, store, reportsOf(metrics, log), onFatal)
}

/** Read-only data is not followed: otherwise a tree would be signed again from an older state. */
const notWatching: WatchingBeside = {
  suspect: () => {},
  seal: async () => undefined,
  putUses: async () => {},
  close: async () => {},
}

function metricsOf(
  { data, databaseUrl, limits }: Config,
  version: string,
  store: Store,
  queued: () => number,
): Metrics {
  const { diskReserveBytes: reserveBytes, readyWithinMs } = limits
  // The other metrics must not fail with the storage: they help to find out why it failed.
  const freeBytes = () => freeBytesAt(data).catch(() => Number.NaN)
  const state = () =>
    Promise.race([
      store.ready().catch(() => undefined),
      systemClock.sleep(readyWithinMs).then(() => undefined),
    ])
  const storage =
    databaseUrl === undefined
      ? ({ kind: "disk", freeBytes, reserveBytes } as const)
      : ({ kind: "database", state } as const)
  return createMetrics({ version, clock: systemClock, queued, storage })
}

function haltOf(readOnly: string | undefined, isBroken: boolean): LedgerError | undefined {
  if (readOnly !== undefined) return new LedgerError("read_only", readOnly)
  return isBroken ? usualError("integrity_failure") : undefined
}
