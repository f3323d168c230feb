// Wires the service: store → ledger → followers → http, and closes it in reverse.

import type { Logger } from "pino"
import { createFairQueue } from "./runtime/fair-queue.ts"
import { checkStore, type CheckedStore } from "./operator/check-store.ts"
import { systemClock } from "./clock.ts"
import { httpUrl, shownSettings, type Config } from "./config.ts"
import { LedgerError, StartError } from "./error.ts"
import { exportBeside, type ExportingBeside } from "./threads/exporting-thread.ts"
import {
  startArchiver,
  type Archiver,
  type ArchiverParts,
  type ArchiverReport,
} from "./lifetime/archiver.ts"
import { removeFromArchive } from "./lifetime/archive-segments.ts"
import { fileBeside, type FilingBeside } from "./threads/filing-thread.ts"
import { eraseAgain } from "./lifetime/erase-again.ts"
import { startErasing, type Erasing } from "./lifetime/erasing.ts"
import { createErasures, type ErasureParts } from "./lifetime/erasures.ts"
import type { Sighting } from "./followers/watching.ts"
import { admit, guard, unknownResource } from "./http/authenticate.ts"
import { sessionCookie } from "./http/cookie.ts"
import { rootRoute } from "./http/docs.ts"
import { routesOf } from "./http/endpoint.ts"
import { limitFailures } from "./http/failure-log.ts"
import { createLists } from "./http/lists.ts"
import { createMetrics, type Metrics } from "./http/metrics.ts"
import { createRate, networkOf } from "./http/rates.ts"
import { createBuiltPages, type BuiltPages } from "./http/built-pages.ts"
import { pageEndpoints } from "./http/page-endpoints.ts"
import { routes } from "./http/routes.ts"
import { HttpServer } from "./http/server.ts"
import { namesWorkspace, type Service } from "./http/service.ts"
import { createSignIns } from "./http/sign-ins.ts"
import { removeUnplaced, type Secrets } from "./operator/secret-files.ts"
import type { Keyring } from "./secrets/keyring.ts"
import type { DueQuestion } from "./lifetime/due-entries.ts"
import { createExpiry, startExpiry, type ExpiryParts } from "./lifetime/expiry.ts"
import { createHolds } from "./lifetime/holds.ts"
import { createPreviews } from "./lifetime/retention-preview.ts"
import type { Limits } from "./limits.ts"
import { createLedger, type LedgerParts } from "./ledger/ledger.ts"
import { freeBytesAt } from "./runtime/folder-size.ts"
import { createPace } from "./runtime/pace.ts"
import { createCheckpoints, createIsGenuine } from "./query/verified-checkpoints.ts"
import { createFinding, type Finding } from "./query/search-scheduling.ts"
import { createLeaves } from "./query/verified-leaves.ts"
import type { VerificationSource } from "./query/verified-entries.ts"
import { createFeed } from "./query/entry-feed.ts"
import { createQueries } from "./query/entry-queries.ts"
import { isSealedBy } from "./store/log-keys.ts"
import { erasuresPath, openErasuresFile, readErasures } from "./store/erasures-file.ts"
import { openStore, type StorePlace } from "./store/open.ts"
import type { Store } from "./store/store.ts"
import { createAccounts } from "./workspace/accounts.ts"
import type { AdminParts } from "./workspace/admin-entries.ts"
import { createCascade } from "./workspace/cascading-revocation.ts"
import { createAuthenticate } from "./workspace/credential-lookup.ts"
import { createCredentialUses, type CredentialUses } from "./workspace/credential-uses.ts"
import { createKeys } from "./workspace/api-keys.ts"
import { createLogKeys } from "./workspace/log-key-rotation.ts"
import { openKeyring } from "./workspace/stored-keyring.ts"
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
  readonly log: Logger
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
  const opened = await openStore(config, options.onFatal, (done, entries) => {
    if (done - told < entriesPerLine && done !== entries) return
    told = done
    options.log.info({ done, entries }, "upgrading the data to the layout of this version")
  })
  const store = options.wrapStore?.(opened) ?? opened
  try {
    removeUnplaced(config.data)
    const keyring = await openKeyring(store.registry, secrets)
    tellSecrets(options.log, secrets, keyring)
    const checked = await checkStore(store, config.heads, placeOf(config), config.limits)
    tellMissing(options.log, config.heads, checked)
    const { rootKey, previousRootKey } = secrets
    const rootKeys: RootKeys =
      previousRootKey === undefined ? [rootKey] : [rootKey, previousRootKey]
    return await start(config, rootKeys, keyring, options, store, checked)
  } catch (error) {
    await store.close()
    throw error
  }
}

function tellMissing(log: Logger, heads: string, { missing }: CheckedStore): void {
  if (missing.length === 0) return
  const origins = missing.slice(0, toldOriginsMax)
  log.warn(
    { heads, ledgers: missing.length, origins },
    "ledgers that were signed are not in this data",
  )
}

type RootKeys = readonly [string, ...string[]]

/** The setting of the old secret has an effect only during a rotation. */
function tellSecrets(
  log: Logger,
  { secret, previous }: Secrets,
  { before, ...keyring }: Keyring,
): void {
  if (previous === undefined || before !== undefined) return
  if (keyring.secret === previous)
    log.warn("the secret was not rotated yet: stop the service, and run `tallystick secret rotate`")
  else if (keyring.secret === secret)
    log.warn("the secret is rotated: TALLYSTICK_SECRET_PREVIOUS has no effect any more, remove it")
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
  { readOnly }: CheckedStore,
): Promise<Running> {
  const [{ log, version }, { limits }] = [options, config]
  const address = { url: config.publicUrl ?? httpUrl(config.host, config.port) }
  const metrics = metricsOf(config, version, store, () => ledger.admission.entries)
  const leaves = createLeaves(store, limits)
  const isGenuine = createIsGenuine(store.registry, isSealedBy(keyring))
  const checkpoints = createCheckpoints({ store, leaves, isGenuine })
  const health = createHealth(metrics, log, (checkpoint) => checkpoints.signed(checkpoint))
  const [watching, filing] = await Promise.all([
    watch(config, store, keyring, options, health.see, readOnly),
    fileAndPack(config, store, metrics, options, readOnly),
  ])
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
  const lifetime = createLifetime(paced, store, filing)
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
    rates: createRates(limits, config.keyRequestsPerMinute),
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
  const listening = listen(config, service, pages, options, readOnly !== undefined)
  const { server, port } = await listening.catch(afterClosing(erasing))
  const listensOn = httpUrl(config.host, port)
  if (config.publicUrl === undefined) address.url = listensOn
  health.recordWith(createRecordIntegrityFailure({ ...parts, workspaces }))
  const expiring = expireDaily(service, log)
  const archiver = archive({ ...parts, journal, ...filing }, service, filing, log, readOnly)
  const beside = { erasing, expiring, health, archiver, watching, filing, exporter }
  return {
    url: address.url,
    listensOn,
    service,
    close: () => stop({ ...service, ...beside, server, others }),
  }
}

type Stopped = Pick<Service, "store" | "feed" | "ledger" | "uses"> & {
  readonly others: ReturnType<typeof hearOthers>
  readonly server: HttpServer
  readonly erasing: Erasing
  readonly expiring: ReturnType<typeof startExpiry>
  readonly archiver: Archiver | undefined
  readonly health: Health
  readonly watching: WatchingBeside
  readonly filing: FilingBeside
  readonly exporter: ExportingBeside
}

async function stop(parts: Stopped): Promise<void> {
  parts.others.close()
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

type MadeHere = keyof ReturnType<typeof destroyingIn> | "erasuresFile" | "holdsOn" | "erased"

interface ErasingParts extends Omit<ErasureParts, MadeHere> {
  readonly store: Store
  readonly workspaces: Pick<Service["workspaces"], "get">
  readonly holds: Service["holds"]
  readonly filing: FilingBeside
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * If the data is a copy from before an erasure, destroys the erased content again before anything
 * is served.
 */
async function beginErasing(
  { heads }: Config,
  { filing, log, metrics, holds, ...parts }: ErasingParts,
  readOnly: string | undefined,
): Promise<Pick<Service, "erasures"> & { readonly erasing: Erasing }> {
  const path = erasuresPath(heads)
  const blocks = readErasures(path)
  const { content } = filing
  const erasures = createErasures({
    ...parts,
    ...destroyingIn(filing, parts),
    erasuresFile: openErasuresFile(path),
    holdsOn: (...asked) => holds.among(...asked),
    erased: metrics.erased,
  })
  await eraseAgain({ ...parts, erasures, path, blocks, readOnly })
  const erasing = startErasing({
    ...parts,
    erasures,
    grown: parts.store.grown,
    isOurs: async (workspace) => readOnly === undefined && (await content.isOurs(workspace)),
    failed(workspace, error) {
      metrics.erasureFailed()
      log.error({ workspace, err: error }, "an erasure failed; it is tried again")
    },
  })
  return { erasures, erasing }
}

function hostOf({ url }: { readonly url: string }): string {
  return new URL(url).hostname
}

/** Retention and holds. */
function createLifetime(
  parts: AdminParts & Pick<Service, "pace">,
  store: Store,
  filing: FilingBeside,
): Pick<Service, "holds" | "expiry" | "previews"> {
  const due = (question: DueQuestion) => filing.due(question)
  const { journal } = store
  return {
    holds: createHolds({ ...parts, journal }),
    expiry: createExpiry({ ...parts, store, due, ...destroyingIn(filing, parts) }),
    previews: createPreviews({ ...parts, journal, due, secret: parts.keyring.secret }),
  }
}

function expireDaily(
  { expiry, store, clock, limits, halted, metrics }: Service,
  log: Logger,
): ReturnType<typeof startExpiry> {
  const { registry } = store
  return startExpiry(
    { expiry, registry, clock, everyMs: limits.expiryEveryMs, isOff: halted },
    {
      ran: metrics.expired,
      failed(workspace, error) {
        metrics.expiryFailed()
        log.error({ workspace, err: error }, "contents could not be expired; tried again later")
      },
    },
  )
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
  const { limits } = config
  const halted = () => new Map([...broken].map(([id, { sequence }]) => [id, sequence]))
  return exportBeside({ place: placeOf(config), keyring, limits }, halted, suspect, onFatal)
}

function usesOf({ index }: Store, watching: WatchingBeside, log: Logger): CredentialUses {
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
): { readonly close: () => void } {
  let closing = findings === undefined
  void (async () => {
    while (!closing) {
      // If the database is away, the next round retries.
      const found = await findings?.().catch(() => [])
      for (const { workspace, sequence } of found ?? []) suspect(workspace, sequence)
      await systemClock.sleep(hearEveryMs)
    }
  })()
  return {
    close() {
      closing = true
    },
  }
}

async function listen(
  config: Config,
  service: Service,
  pages: BuiltPages,
  { log, version }: ServeOptions,
  readOnly: boolean,
): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const { limits, metrics, clock, publicUrl } = service
  const failures = limitFailures(log, clock, limits.failureLinesPerMinute, metrics.failure)
  const server = new HttpServer(
    {
      limits,
      clock,
      log: failures,
      listenHost: config.host,
      publicUrl,
      trustProxy: trusted(config),
      headers: readOnly ? { "ledger-state": "read-only" } : {},
      report: metrics.request,
    },
    [
      rootRoute(publicUrl),
      ...routesOf([...routes(service, version), ...pageEndpoints(service, pages)], {
        guard: guard(service),
        admit: admit(service.ledger.admission),
        pace: service.pace,
        unknownResource,
        refusalTime: (endpoint) =>
          namesWorkspace(endpoint) ? clock.sleep(limits.refusalMs) : undefined,
        limits,
      }),
    ],
  )
  const port = await server.listen(config.host, config.port).catch((cause: unknown) => {
    throw cannotListen(cause, config)
  })
  if (!sessionCookie(publicUrl).isSecure)
    log.warn(
      "members sign in over plain HTTP: anyone on the network path can take over their sessions. Put TLS in front, and set TALLYSTICK_PUBLIC_URL",
    )
  return { server, port }
}

/** Otherwise an erasure that finds the store closed would be logged as a failure. */
function afterClosing({ close }: Pick<Erasing, "close">): (error: unknown) => Promise<never> {
  return async (error) => {
    await close()
    throw error
  }
}

/** An error that names the setting to correct, if there is one. */
function cannotListen(cause: unknown, { host, port }: Config): unknown {
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use; stop what listens there, or set TALLYSTICK_PORT to another one (0 takes a free one)`,
    EACCES: `port ${port} is reserved by the system; set TALLYSTICK_PORT to 1024 or more`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; set TALLYSTICK_HOST to one that is`,
    ENOTFOUND: `${host} is not a name that can be looked up; set TALLYSTICK_HOST to an address of this machine`,
  }
  const sentence =
    cause instanceof Error && "code" in cause ? sentences[String(cause.code)] : undefined
  return sentence === undefined ? cause : new StartError(sentence, { cause })
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

function createRates(limits: Limits, keyRequestsPerMinute: number | undefined): Service["rates"] {
  const rate = (of: string, perMinute: number, bucketOf = (id: string) => id) =>
    createRate(systemClock, { bucketsMax: limits.rateAddressesMax, bucketOf, perMinute, of })
  const { anonymousReadsPerMinute, failedLoginsPerMinute, packDownloadsPerMinute } = limits
  return {
    reads: rate("reads without a credential from this address", anonymousReadsPerMinute, networkOf),
    logins: rate("failed log-ins from this address", failedLoginsPerMinute, networkOf),
    keys:
      keyRequestsPerMinute === undefined
        ? undefined
        : rate("requests with this key", keyRequestsPerMinute),
    downloads: rate("downloads with this token", packDownloadsPerMinute),
  }
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

/** The places where contents are destroyed: the database, the archive and the search. */
function destroyingIn(
  filing: FilingBeside,
  parts: AdminParts,
): Pick<ExpiryParts, "content" | "forget" | "removeFromArchive"> {
  const { archiving, content } = filing
  return {
    content,
    forget: (...asked) => filing.forget(...asked),
    removeFromArchive: (...asked) => removeFromArchive({ ...parts, archiving }, ...asked),
  }
}

/** Longer than writing a segment into a folder takes. */
const archiverCloseMs = 1000

function archive(
  parts: ArchiverParts,
  { metrics, health: { broken } }: Pick<Service, "metrics" | "health">,
  { content }: FilingBeside,
  log: Logger,
  readOnly: string | undefined,
): Archiver | undefined {
  if (readOnly !== undefined) return undefined
  const report = (said: ArchiverReport): void => {
    if (said.kind === "swept") metrics.archived(said.state)
    else if (said.kind === "archived")
      log.info({ workspace: said.workspace, entries: said.entries }, "archived entries")
    else {
      metrics.archiveFailure()
      log.error({ workspace: said.workspace, err: said.error }, "entries could not be archived")
    }
  }
  return startArchiver(parts, {
    isOurs: (workspace) => content.isOurs(workspace),
    isHalted: (workspace) => broken.has(workspace),
    report,
  })
}

function fileAndPack(
  config: Config,
  store: Store,
  metrics: Metrics,
  { log, onFatal }: ServeOptions,
  readOnly: string | undefined,
): Promise<FilingBeside> {
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
  if (!isBroken) return undefined
  return new LedgerError(
    "integrity_failure",
    "this workspace's chain fails its integrity check; nothing is recorded until an operator has looked at it",
  )
}

function trusted({ trustProxy }: Config): boolean | string[] {
  return typeof trustProxy === "boolean"
    ? trustProxy
    : trustProxy.split(",").map((part) => part.trim())
}
