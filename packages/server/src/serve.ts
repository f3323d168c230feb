// Wires the service: store → ledger → followers → http, and closes it in reverse.

import { statfs } from "node:fs/promises"
import type { FastifyInstance } from "fastify"
import type { Logger } from "pino"
import { createFairQueue } from "./runtime/fair-queue.ts"
import { checkStore, type CheckedStore } from "./operator/check-store.ts"
import { systemClock } from "./clock.ts"
import { httpUrl, type Config } from "./config.ts"
import { LedgerError, StartError } from "./error.ts"
import { fileBeside, type FilingBeside } from "./threads/filing-thread.ts"
import type { Sighting } from "./followers/watching.ts"
import { admit, guard, unknownResource } from "./http/authenticate.ts"
import { sessionCookie } from "./http/cookie.ts"
import { leadToDocs } from "./http/docs.ts"
import { mount } from "./http/endpoint.ts"
import { limitFailures } from "./http/failure-log.ts"
import { createLists } from "./http/lists.ts"
import { createMetrics, type Metrics } from "./http/metrics.ts"
import { createRate, networkOf } from "./http/rates.ts"
import { routes } from "./http/routes.ts"
import { createServer } from "./http/server.ts"
import { namesWorkspace, type Service } from "./http/service.ts"
import { createSignIns } from "./http/sign-ins.ts"
import { removeUnplaced, type Secrets } from "./operator/secret-files.ts"
import type { Keyring } from "./secrets/keyring.ts"
import type { Limits } from "./limits.ts"
import { createLedger, type Ledger, type LedgerParts } from "./ledger/ledger.ts"
import type { SequencerReport } from "./ledger/sequencer.ts"
import { createPace } from "./runtime/pace.ts"
import { createCheckpoints, createIsGenuine } from "./query/verified-checkpoints.ts"
import { createFind, type Find } from "./query/search-scheduling.ts"
import { createLeaves } from "./query/verified-leaves.ts"
import type { VerificationSource } from "./query/verified-entries.ts"
import { createQueries } from "./query/entry-queries.ts"
import { keysOf } from "./store/log-keys.ts"
import { openStore } from "./store/open.ts"
import type { Store } from "./store/store.ts"
import { createAccounts } from "./workspace/accounts.ts"
import { createCascade } from "./workspace/cascading-revocation.ts"
import { createAuthenticate } from "./workspace/credential-lookup.ts"
import { createKeys } from "./workspace/api-keys.ts"
import { createLogKeys } from "./workspace/log-key-rotation.ts"
import { openKeyring } from "./workspace/stored-keyring.ts"
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
  /** Under which clients reach it. */
  readonly url: string
  /** Where it listens, which is somewhere else when there is a proxy in front of it. */
  readonly listensOn: string
  readonly service: Service
  /** Stops accepting, finishes what was accepted, and lets go of the data. */
  close(): Promise<void>
}

export interface ServeOptions {
  readonly log: Logger
  readonly version: string
  /** Nothing can be said of the state of storage any more: the process must end. */
  readonly onFatal: (cause: Error) => void
  /**
   * For programs that try how the service fails: a store that stands before the real one, another
   * idea of what is the same.
   */
  readonly wrapStore?: (store: Store) => Store
  readonly same?: LedgerParts["same"]
}

export async function serve(
  config: Config,
  secrets: Secrets,
  options: ServeOptions,
): Promise<Running> {
  const opened = await openStore(config, options.onFatal, (done, entries) => {
    if (done % entriesPerLine === 0 || done === entries)
      options.log.info({ done, entries }, "bringing the journal into the layout of this version")
  })
  const store = options.wrapStore?.(opened) ?? opened
  try {
    removeUnplaced(config.data)
    const keyring = await openKeyring(store.registry, secrets)
    tellSecrets(options.log, secrets, keyring)
    const checked = await checkStore(store, config.heads, config.limits)
    tellMissing(options.log, config.heads, checked)
    return await start(config, rootKeysOf(secrets), keyring, options, store, checked)
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

function rootKeysOf({ rootKey, previousRootKey }: Secrets): RootKeys {
  return previousRootKey === undefined ? [rootKey] : [rootKey, previousRootKey]
}

/**
 * What is set for a rotation has its time: before one has begun, and after it has ended, somebody
 * is to hear of it.
 */
function tellSecrets(
  log: Logger,
  { secret, previous }: Secrets,
  { before, ...keyring }: Keyring,
): void {
  if (previous === undefined || before !== undefined) return
  if (keyring.secret === previous)
    log.warn("the secret was not rotated yet: stop, and run `tallystick secret rotate`")
  else if (keyring.secret === secret)
    log.warn(
      "the secret is rotated: TALLYSTICK_SECRET_PREVIOUS is of no use any more, take it away",
    )
}

/** There may be thousands. */
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
  const { log, version } = options
  const { limits } = config
  const address = { url: config.publicUrl ?? httpUrl(config.host, config.port) }
  const metrics = metricsOf(config, version, () => ledger.admission.entries)
  const leaves = createLeaves(store, limits)
  const checkpoints = createCheckpoints({
    store,
    leaves,
    isGenuine: createIsGenuine(store.registry, keysOf(keyring)),
  })
  const health = createHealth(metrics, log, (checkpoint) => checkpoints.signed(checkpoint))
  const watching = await watch(config, store, keyring, options, health.see, readOnly)
  const filing = await fileBeside(
    { data: config.data, limits },
    store,
    reportsOf(metrics, log),
    options.onFatal,
  )
  const ledger = ledgerOf(store, keyring, options, limits, metrics)
  const source = sourceOf(store, { checkpoints, leaves }, health, watching)
  const parts = { registry: store.registry, ledger, clock: systemClock, keyring, limits }
  const shared = sharedOf(limits)
  const service: Service = {
    store,
    ...shared,
    ledger,
    ...createAdministration(
      {
        ...parts,
        keyRequestsPerMinute: config.keyRequestsPerMinute,
        host: new URL(address.url).hostname,
      },
      rootKeys,
    ),
    source,
    queries: createQueries({
      store: { ...source, registry: store.registry },
      limits,
      find: findOf(store, limits, filing),
      ...shared,
    }),
    logKeys: createLogKeys({
      ...parts,
      journal: store.journal,
      checkpoints,
      seal: (workspace) => watching.seal(workspace),
    }),
    packs: createPacks({
      ...parts,
      ...shared,
      store,
      checkpoints,
      seal: (workspace) => watching.seal(workspace),
    }),
    clock: systemClock,
    limits,
    metrics,
    seal: (workspace) => watching.seal(workspace),
    ...ledgerStateOf(health, readOnly),
    get publicUrl() {
      return address.url
    },
  }
  const server = await listen(config, service, log, version, readOnly !== undefined)
  const listensOn = httpUrl(config.host, portOf(server) ?? config.port)
  if (config.publicUrl === undefined) address.url = listensOn
  health.recordWith(createRecordIntegrityFailure({ ...parts, workspaces: service.workspaces }))
  return {
    url: address.url,
    listensOn,
    service,
    async close() {
      await server.close()
      health.close()
      await ledger.sequencer.drained()
      await Promise.all([watching.close(), filing.close()])
      await store.close()
    },
  }
}

function ledgerOf(
  { journal }: Store,
  keyring: Keyring,
  { same }: ServeOptions,
  limits: Limits,
  report: SequencerReport,
): Ledger {
  return createLedger({
    journal,
    clock: systemClock,
    limits,
    keyring,
    ...(same === undefined ? {} : { same }),
    report,
  })
}

/** What entries that are read are held against. */
function sourceOf(
  { journal, index, search }: Store,
  trusted: Pick<VerificationSource, "checkpoints" | "leaves">,
  { broken }: Health,
  watching: WatchingBeside,
): VerificationSource {
  const report = (workspace: string, sequence: number) => watching.suspect(workspace, sequence)
  const suspect = createSuspicions(systemClock, (workspace) => broken.has(workspace), report)
  return {
    journal,
    index,
    search,
    ...trusted,
    haltedFrom: (workspace) => broken.get(workspace),
    suspect,
  }
}

async function listen(
  config: Config,
  service: Service,
  log: Logger,
  version: string,
  readOnly: boolean,
): Promise<FastifyInstance> {
  const { limits, metrics, clock, publicUrl } = service
  const failures = limitFailures(log, clock, limits.failureLinesPerMinute, metrics.failure)
  const server = createServer({
    limits,
    clock,
    log: failures,
    listenHost: config.host,
    publicUrl,
    trustProxy: trusted(config),
  })
  if (readOnly) {
    server.addHook("onRequest", (_request, reply, done) => {
      reply.header("ledger-state", "read-only")
      done()
    })
  }
  server.addHook("onResponse", (request, reply, done) => {
    metrics.request(
      request.routeOptions.url ?? "",
      request.method,
      reply.statusCode,
      reply.elapsedTime,
    )
    done()
  })
  leadToDocs(server, publicUrl)
  mount(server, routes(service, version), {
    guard: guard(service),
    admit: admit(service.ledger.admission),
    pace: service.pace,
    unknownResource,
    refusalTime: (endpoint) =>
      namesWorkspace(endpoint) ? clock.sleep(limits.refusalMs) : undefined,
    limits,
    clock,
    log: failures,
  })
  await server.listen({ host: config.host, port: config.port }).catch((cause: unknown) => {
    throw cannotListen(cause, config)
  })
  if (!sessionCookie(publicUrl).isSecure)
    log.warn(
      "members sign in over plain HTTP: whoever is on the way can take over their sessions. Put TLS in front, and set TALLYSTICK_PUBLIC_URL",
    )
  return server
}

/** With the setting that would mend it, where one would. */
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

/** What people administer, whom their credentials speak for, and how often strangers may try. */
function createAdministration(
  parts: WorkspaceParts & { readonly keyRequestsPerMinute: number | undefined },
  rootKeys: RootKeys,
) {
  const workspaces = createWorkspaces(parts)
  const keys = createKeys(parts)
  const tokens = createTokens({ ...parts, rootKeys })
  const scoped = tokens.recognise
  return {
    workspaces,
    keys,
    tokens,
    authenticate: createAuthenticate(rootKeys, {
      k: keys.recognise,
      r: scoped,
      p: scoped,
      a: scoped,
      e: scoped,
    }),
    projects: createProjects(parts),
    policies: createPolicies(parts),
    members: createMembers(parts),
    cascade: createCascade(parts),
    accounts: createAccounts({ ...parts, workspaces }),
    sessions: createSessions(parts),
    lists: createLists(parts.keyring.secret),
    rates: ratesOf(parts.limits, parts.keyRequestsPerMinute),
  }
}

function findOf({ search }: Store, limits: Limits, filing: FilingBeside): Find {
  return createFind({
    search,
    clock: systemClock,
    limits,
    file: (workspace) => filing.catchUp(workspace),
  })
}

/** What all requests share: the places of those that read or sign in, and the thread. */
function sharedOf(limits: Limits): Pick<Service, "reading" | "pace" | "signIns"> {
  const {
    readsAtOnceMax: atOnceMax,
    readsOfWorkspaceMax: perWorkspaceMax,
    readsWaitingMax: waitingMax,
    readWaitMs: waitMs,
  } = limits
  return {
    reading: createFairQueue(systemClock, {
      atOnceMax,
      perWorkspaceMax,
      waitingMax,
      waitMs,
      of: "pages and receipts",
    }),
    pace: createPace(systemClock, limits.pieceMs),
    signIns: createSignIns(systemClock, limits),
  }
}

function ratesOf(limits: Limits, keyRequestsPerMinute: number | undefined): Service["rates"] {
  const {
    anonymousReadsPerMinute,
    failedLoginsPerMinute,
    packDownloadsPerMinute,
    rateAddressesMax: bucketsMax,
  } = limits
  const byAddress = { bucketsMax, bucketOf: networkOf }
  const reads = {
    ...byAddress,
    perMinute: anonymousReadsPerMinute,
    of: "reads without a credential from this address",
  }
  const logins = {
    ...byAddress,
    perMinute: failedLoginsPerMinute,
    of: "failed log-ins from this address",
  }
  const byId = { bucketsMax, bucketOf: (id: string) => id }
  const byKey = { ...byId, of: "requests with this key" }
  return {
    reads: createRate(systemClock, reads),
    logins: createRate(systemClock, logins),
    keys:
      keyRequestsPerMinute === undefined
        ? undefined
        : createRate(systemClock, { ...byKey, perMinute: keyRequestsPerMinute }),
    downloads: createRate(systemClock, {
      ...byId,
      perMinute: packDownloadsPerMinute,
      of: "downloads with this token",
    }),
  }
}

async function watch(
  { data, heads: headsPath, limits }: Config,
  store: Store,
  keyring: Keyring,
  { log, onFatal }: ServeOptions,
  see: (sighting: Sighting) => void,
  readOnly: string | undefined,
): Promise<WatchingBeside> {
  if (readOnly === undefined)
    return await watchBeside({ data, headsPath, keyring, limits }, store, see, onFatal)
  log.error(readOnly)
  return notWatching
}

/** What is read only is not followed either: its tree would be signed again from an older state. */
const notWatching: WatchingBeside = {
  suspect: () => {},
  seal: async () => undefined,
  close: async () => {},
}

function metricsOf({ data, limits }: Config, version: string, queued: () => number): Metrics {
  const { diskReserveBytes } = limits
  // A disk that cannot be asked is no reason to keep all the other numbers from whoever must find
  // out why.
  const diskFreeBytes = () => freeBytes(data).catch(() => Number.NaN)
  return createMetrics({ version, clock: systemClock, queued, diskFreeBytes, diskReserveBytes })
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** What is known of the chains, and what may not be written for it. */
function ledgerStateOf(
  health: Health,
  readOnly: string | undefined,
): Pick<Service, "brokenWorkspaces" | "audit" | "halted"> {
  return {
    brokenWorkspaces: () => health.broken.size,
    audit: () => health.audit(),
    halted: (workspace) =>
      haltOf(readOnly, workspace !== undefined && health.broken.has(workspace)),
  }
}

function haltOf(readOnly: string | undefined, isBroken: boolean): LedgerError | undefined {
  if (readOnly !== undefined) return new LedgerError("read_only", readOnly)
  if (!isBroken) return undefined
  return new LedgerError(
    "integrity_failure",
    "this workspace's chain does not hold together; it is not written to until an operator has looked at it",
  )
}

function portOf(server: FastifyInstance): number | undefined {
  const [address] = server.addresses()
  return typeof address === "object" ? address.port : undefined
}

function trusted({ trustProxy }: Config): boolean | string[] {
  return typeof trustProxy === "boolean"
    ? trustProxy
    : trustProxy.split(",").map((part) => part.trim())
}
