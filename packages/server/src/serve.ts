// Wires the service: store → ledger → followers → http, and closes it in reverse.

import type { FastifyInstance } from "fastify"
import type { Logger } from "pino"
import { checkStore, type CheckedStore } from "./check-store.ts"
import { systemClock } from "./clock.ts"
import type { Config } from "./config.ts"
import { LedgerError } from "./error.ts"
import { fileBeside, type FilingBeside } from "./filing.ts"
import type { FilingReport } from "./followers/filing.ts"
import type { Sighting, Watching } from "./followers/watching.ts"
import { guard, unknownResource } from "./http/authenticate.ts"
import { sessionCookie } from "./http/cookie.ts"
import { mount } from "./http/endpoint.ts"
import { createMetrics, type Metrics } from "./http/metrics.ts"
import { createRate } from "./http/rates.ts"
import { routes } from "./http/routes.ts"
import { createServer } from "./http/server.ts"
import type { Service } from "./http/service.ts"
import type { Secrets } from "./keep.ts"
import type { Limits } from "./limits.ts"
import { createLedger, type LedgerParts } from "./ledger/ledger.ts"
import type { SequencerReport } from "./ledger/sequencer.ts"
import { createQueries } from "./query/search.ts"
import { openStore } from "./store/open.ts"
import type { Store } from "./store/store.ts"
import { createAccounts, type AccountParts } from "./workspace/accounts.ts"
import { createAuthenticate } from "./workspace/credentials.ts"
import { createKeys } from "./workspace/keys.ts"
import { createPacks } from "./workspace/packs.ts"
import { createPolicies } from "./workspace/policies.ts"
import { createMembers } from "./workspace/members.ts"
import { createProjects } from "./workspace/projects.ts"
import { createSessions } from "./workspace/sessions.ts"
import { createTokens } from "./workspace/tokens.ts"
import { createWorkspaces, type WorkspaceParts } from "./workspace/workspaces.ts"
import { watchBeside } from "./watch.ts"

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
  /** For programs that try how the service fails: a store that stands before the real one, another idea of what is the same. */
  readonly wrapStore?: (store: Store) => Store
  readonly same?: LedgerParts["same"]
}

export async function serve(config: Config, secrets: Secrets, options: ServeOptions): Promise<Running> {
  const opened = await openStore({ folder: config.data, reserveBytes: config.limits.diskReserveBytes, onDeath: options.onFatal })
  const store = options.wrapStore?.(opened) ?? opened
  try {
    const checked = await checkStore(store, config.heads, config.limits, secrets.secret)
    return await start(config, secrets, options, store, checked)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function start(
  config: Config,
  secrets: Secrets,
  options: ServeOptions,
  store: Store,
  { workspaces, behind }: CheckedStore,
): Promise<Running> {
  const { log, version } = options
  const { limits } = config
  const address = { url: config.publicUrl ?? urlOf(config.host, config.port) }
  const metrics = createMetrics(version, () => ledger.sequencer.waiting())
  const broken = new Set<string>()
  if (behind !== undefined) log.error(behind)
  const watching = behind === undefined ? await watch(config, secrets, options, sightings(metrics, broken, log)) : notWatching
  const filing = await fileBeside({ data: config.data, limits }, reportsOf(log), options.onFatal)
  const ledger = createLedger({
    journal: store.journal,
    clock: systemClock,
    limits,
    secret: secrets.secret,
    ...(options.same === undefined ? {} : { same: options.same }),
    report: reportTo(metrics, watching, filing),
  })
  const parts = { registry: store.registry, ledger, clock: systemClock, secret: secrets.secret }
  const service: Service = {
    store,
    ledger,
    ...administered({ ...parts, limits, host: new URL(address.url).hostname }, secrets.rootKey),
    queries: createQueries(store, (workspace) => filing.catchUp(workspace)),
    packs: createPacks({ ...parts, store, limits, seal: (workspace) => watching.seal(workspace) }),
    clock: systemClock,
    limits,
    metrics,
    seal: (workspace) => watching.seal(workspace),
    brokenWorkspaces: () => broken.size,
    halted: (workspace) => haltOf(behind, workspace !== undefined && broken.has(workspace)),
    get publicUrl() {
      return address.url
    },
  }
  const server = await listen(config, service, log, version, behind !== undefined)
  const listensOn = urlOf(config.host, portOf(server) ?? config.port)
  if (config.publicUrl === undefined) address.url = listensOn
  watching.poke(workspaces.map(({ id }) => id))
  filing.poke(workspaces.map(({ id }) => id))
  return {
    url: address.url,
    listensOn,
    service,
    async close() {
      await server.close()
      await ledger.sequencer.drained()
      await Promise.all([watching.close(), filing.close()])
      await store.close()
    },
  }
}

async function listen(config: Config, service: Service, log: Logger, version: string, readOnly: boolean): Promise<FastifyInstance> {
  const { limits, metrics, clock, publicUrl } = service
  const server = createServer({ limits, clock, log, listenHost: config.host, publicUrl, trustProxy: trusted(config) })
  if (!sessionCookie(publicUrl).isSecure)
    log.warn(
      "members sign in over plain HTTP: whoever is on the way can take over their sessions. Put TLS in front, and set TALLYSTICK_PUBLIC_URL",
    )
  if (readOnly) {
    server.addHook("onRequest", (_request, reply, done) => {
      reply.header("ledger-state", "read-only")
      done()
    })
  }
  server.addHook("onResponse", (request, reply, done) => {
    metrics.request(request.routeOptions.url ?? "", request.method, reply.statusCode, reply.elapsedTime)
    done()
  })
  mount(server, routes(service, version), { guard: guard(service), unknownResource, limits, clock, log })
  await server.listen({ host: config.host, port: config.port })
  return server
}

/** What people administer, whom their credentials speak for, and how often strangers may try. */
function administered(parts: Omit<AccountParts, "workspaces"> & WorkspaceParts & { readonly limits: Limits }, rootKey: string) {
  const workspaces = createWorkspaces(parts)
  const keys = createKeys(parts)
  const tokens = createTokens({ ...parts, rootKey })
  const scoped = tokens.recognise
  return {
    workspaces,
    keys,
    tokens,
    authenticate: createAuthenticate(rootKey, { k: keys.recognise, r: scoped, p: scoped, a: scoped, e: scoped }),
    projects: createProjects(parts),
    policies: createPolicies(parts),
    members: createMembers(parts),
    accounts: createAccounts({ ...parts, workspaces }),
    sessions: createSessions(parts),
    rates: ratesOf(parts.limits),
  }
}

function ratesOf({ anonymousReadsPerMinute, failedLoginsPerMinute, rateAddressesMax: addressesMax }: Limits): Service["rates"] {
  return {
    reads: createRate(systemClock, { perMinute: anonymousReadsPerMinute, addressesMax, of: "reads without a credential" }),
    logins: createRate(systemClock, { perMinute: failedLoginsPerMinute, addressesMax, of: "failed log-ins" }),
  }
}

function watch(config: Config, secrets: Secrets, { onFatal }: ServeOptions, see: (sighting: Sighting) => void): Promise<Watching> {
  return watchBeside({ data: config.data, headsPath: config.heads, secret: secrets.secret, limits: config.limits }, see, onFatal)
}

/** What is read only is not followed either: its tree would be signed again from an older state. */
const notWatching: Watching = { poke: () => {}, seal: async () => undefined, close: async () => {} }

/** Whoever follows is told of what was written. */
function reportTo(metrics: Metrics, watching: Watching, filing: FilingBeside): SequencerReport {
  return {
    commit: metrics.commit,
    advanced(heads) {
      for (const { workspace, sequence } of heads) metrics.advanced(workspace, sequence)
      watching.poke(heads.map(({ workspace }) => workspace))
      filing.poke(heads.map(({ workspace }) => workspace))
    },
  }
}

/** What is done about what the filing program says: how far it has come, it remembers itself. */
function reportsOf(log: Logger): (report: FilingReport) => void {
  return (report) => {
    if (report.kind === "failed") log.error({ detail: report.detail }, "new entries cannot be found; it is tried again in a second")
  }
}

/** What is done about what the followers see. */
function sightings(metrics: Metrics, broken: Set<string>, log: Logger): (sighting: Sighting) => void {
  return (sighting) => {
    switch (sighting.kind) {
      case "followed":
        metrics.followed(sighting.workspace, sighting.position)
        break
      case "signed":
        metrics.signed(sighting.lagMs)
        break
      case "failed":
        log.error({ workspace: sighting.workspace, detail: sighting.detail }, "following failed; it is tried again in a second")
        break
      case "broken":
        broken.add(sighting.workspace)
        metrics.integrityFailure()
        log.error(
          { workspace: sighting.workspace, detail: sighting.detail },
          "the chain does not hold together; this workspace is not written to or signed any more",
        )
    }
  }
}

function haltOf(behind: string | undefined, isBroken: boolean): LedgerError | undefined {
  if (behind !== undefined) return new LedgerError("read_only", behind)
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

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`
}

function trusted({ trustProxy }: Config): boolean | string[] {
  return typeof trustProxy === "boolean" ? trustProxy : trustProxy.split(",").map((part) => part.trim())
}
