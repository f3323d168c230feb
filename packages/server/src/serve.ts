// Wires the service: store → ledger → followers → http, and closes it in reverse.

import type { Logger } from "pino"
import { systemClock } from "./clock.ts"
import type { Config } from "./config.ts"
import { LedgerError } from "./error.ts"
import type { Sighting, Watching } from "./followers/watching.ts"
import { guard, unknownResource } from "./http/authenticate.ts"
import { mount } from "./http/endpoint.ts"
import { createMetrics } from "./http/metrics.ts"
import { routes } from "./http/routes.ts"
import { createServer } from "./http/server.ts"
import type { Service } from "./http/service.ts"
import type { Secrets } from "./keep.ts"
import { createLedger, type LedgerParts } from "./ledger/ledger.ts"
import { recheck } from "./ledger/recheck.ts"
import { readHeads } from "./store/heads.ts"
import { openStore } from "./store/open.ts"
import type { Document, Registry, Store } from "./store/store.ts"
import { createKeys } from "./workspace/keys.ts"
import { createProjects } from "./workspace/projects.ts"
import { createWorkspaces } from "./workspace/workspaces.ts"
import { watchBeside } from "./watch.ts"

export interface Running {
  readonly url: string
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

/** What must be so before the service starts, and is not; the message is for the operator. */
export class StartError extends Error {
  override readonly name = "StartError"
}

/** All workspaces together have this many of their last entries looked at; each at most `recheckEntries`. */
const recheckTotal = 20_000

export async function serve(config: Config, secrets: Secrets, options: ServeOptions): Promise<Running> {
  const { log, version, onFatal } = options
  const { limits } = config
  const opened = await openStore({ folder: config.data, reserveBytes: limits.diskReserveBytes, onDeath: onFatal })
  const store = options.wrapStore?.(opened) ?? opened
  const documents = await allWorkspaces(store.registry)
  await recheckAll(store, documents, limits.recheckEntries)
  const behind = await behindHeads(store, documents, config.heads)
  if (behind !== undefined) log.error(behind)

  const broken = new Set<string>()
  const publicAddress = { url: config.publicUrl ?? `http://${hostInUrl(config.host)}:${config.port}` }
  const metrics = createMetrics(version, () => ledger.sequencer.waiting())
  const see = (sighting: Sighting): void => {
    if (sighting.kind === "followed") metrics.followed(sighting.workspace, sighting.position)
    if (sighting.kind === "signed") metrics.signed(sighting.lagMs)
    if (sighting.kind === "failed") log.error({ workspace: sighting.workspace, detail: sighting.detail }, "following failed; it is tried again with the next entry")
    if (sighting.kind !== "broken") return
    broken.add(sighting.workspace)
    metrics.integrityFailure()
    log.error({ workspace: sighting.workspace, detail: sighting.detail }, "the chain does not hold together; this workspace is not written to or signed any more")
  }
  const watching: Watching =
    behind === undefined
      ? await watchBeside({ data: config.data, headsPath: config.heads, secret: secrets.secret, limits }, see, onFatal)
      : { poke: () => {}, seal: async () => undefined, close: async () => {} }
  const ledger = createLedger({
    journal: store.journal,
    clock: systemClock,
    limits,
    secret: secrets.secret,
    ...(options.same === undefined ? {} : { same: options.same }),
    report: {
      commit: metrics.commit,
      advanced(heads) {
        for (const { workspace, sequence } of heads) metrics.advanced(workspace, sequence)
        watching.poke(heads.map(({ workspace }) => workspace))
      },
    },
  })
  const parts = { registry: store.registry, ledger, clock: systemClock, secret: secrets.secret }
  const service: Service = {
    store,
    ledger,
    workspaces: createWorkspaces({ ...parts, host: new URL(publicAddress.url).hostname }),
    projects: createProjects(parts),
    keys: createKeys({ ...parts, rootKey: secrets.rootKey }),
    clock: systemClock,
    limits,
    metrics,
    seal: (workspace) => watching.seal(workspace),
    halted(workspace) {
      if (behind !== undefined) return new LedgerError("read_only", behind)
      if (workspace === undefined || !broken.has(workspace)) return undefined
      return new LedgerError("integrity_failure", "this workspace's chain does not hold together, and is not written to until an operator has looked at it")
    },
    get publicUrl() {
      return publicAddress.url
    },
  }

  const server = createServer({ limits, clock: systemClock, log, listenHost: config.host, publicUrl: publicAddress.url, trustProxy: trusted(config) })
  if (behind !== undefined) server.addHook("onRequest", (_request, reply, done) => void (reply.header("ledger-state", "read-only"), done()))
  server.addHook("onResponse", (request, reply, done) => {
    metrics.request(request.routeOptions.url ?? "", request.method, reply.statusCode, reply.elapsedTime)
    done()
  })
  mount(server, routes(service, version), { guard: guard(service.keys), unknownResource, limits, clock: systemClock, log })
  await server.listen({ host: config.host, port: config.port })
  const [address] = server.addresses()
  const port = typeof address === "object" ? address.port : config.port
  if (config.publicUrl === undefined) publicAddress.url = `http://${hostInUrl(config.host)}:${port}`
  watching.poke(documents.map(({ id }) => id))

  return {
    url: publicAddress.url,
    service,
    async close() {
      await server.close()
      await ledger.sequencer.drained()
      await watching.close()
      await store.close()
    },
  }
}

async function allWorkspaces(registry: Registry): Promise<readonly Document<"workspace">[]> {
  const all: Document<"workspace">[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await registry.list("workspace", undefined, before, 1000)
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined) return all
    before = last.serial
  }
}

async function recheckAll(store: Store, workspaces: readonly Document<"workspace">[], entriesMax: number): Promise<void> {
  const entries = Math.max(1, Math.min(entriesMax, Math.floor(recheckTotal / workspaces.length)))
  for (const workspace of workspaces) {
    const wrong = await recheck(store.journal, workspace, entries)
    if (wrong !== undefined) throw new StartError(`${wrong}; nothing may be built upon it. Restore a backup, or look at the disk`)
  }
}

/** A copy of the data that ends before what was signed must not be written to: it would become a second history under the same name. */
async function behindHeads(store: Store, workspaces: readonly Document<"workspace">[], headsPath: string): Promise<string | undefined> {
  const { heads } = readHeads(headsPath)
  for (const { id, value } of workspaces) {
    const signed = heads.get(value.origin)
    const head = await store.journal.head(id)
    if (signed !== undefined && signed.size > (head?.sequence ?? 0)) {
      return `the data is older than what was signed: workspace ${id} ends at entry ${head?.sequence ?? 0}, and ${signed.size} were signed; it can be read, and not be written to`
    }
  }
  return undefined
}

function trusted({ trustProxy }: Config): boolean | string[] {
  return typeof trustProxy === "boolean" ? trustProxy : trustProxy.split(",").map((part) => part.trim())
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host
}
