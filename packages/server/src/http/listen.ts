// Starts the HTTP server of a service: its routes, what guards them, and what it says if it cannot
// listen.

import type { Log } from "../log.ts"
import type { Config } from "../config.ts"
import { codeOf, StartError } from "../error.ts"
import { admit, createRecognise, guard, unknownResource } from "./authenticate.ts"
import type { BuiltPages } from "./built-pages.ts"
import { sessionCookie } from "./cookie.ts"
import { rootRoute } from "./docs.ts"
import { routesOf } from "./endpoint.ts"
import { limitFailures } from "./failure-log.ts"
import { pageEndpoints } from "./page-endpoints.ts"
import { openFilesMax } from "./process-metrics.ts"
import { routes } from "./routes.ts"
import { HttpServer } from "./server.ts"
import { namesWorkspace, type Service } from "./service.ts"

export interface ListenOptions {
  readonly log: Log
  readonly version: string
  readonly readOnly: boolean
}

export async function listen(
  config: Config,
  service: Service,
  pages: BuiltPages,
  { log, version, readOnly }: ListenOptions,
): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const { limits, metrics, clock, publicUrl } = service
  const failures = limitFailures(log, clock, limits.failureLinesPerMinute, metrics.failure)
  const server = new HttpServer(
    {
      limits: { ...limits, connectionsMax: await connectionsMaxOf(limits.connectionsMax, log) },
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
        recheck: createRecognise(service),
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

/** Files that a service has open beside its connections: 60 at a start, and those of more threads. */
const ownFilesMax = 256

/** Connections must leave files to threads that start later, or searches and exports are refused. */
async function connectionsMaxOf(wanted: number, log: Log): Promise<number> {
  const files = await openFilesMax()
  const room = Math.max(1, files - ownFilesMax)
  if (wanted <= room) return wanted
  log.warn(
    `only ${files} files may be open, so at most ${room} connections are, instead of ${wanted}: raise the limit of open files (LimitNOFILE, ulimit -n), or set TALLYSTICK_LIMIT_CONNECTIONS_MAX`,
  )
  return room
}

/** An error that names the setting to correct, if there is one. */
function cannotListen(cause: unknown, { host, port }: Config): unknown {
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use; stop what listens there, or set TALLYSTICK_PORT to another one (0 takes a free one)`,
    EACCES: `port ${port} is reserved by the system; set TALLYSTICK_PORT to 1024 or more`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; set TALLYSTICK_HOST to one that is`,
    ENOTFOUND: `${host} is not a name that can be looked up; set TALLYSTICK_HOST to an address of this machine`,
  }
  const sentence = sentences[codeOf(cause)]
  return sentence === undefined ? cause : new StartError(sentence, { cause })
}

function trusted({ trustProxy }: Config): boolean | string[] {
  return typeof trustProxy === "boolean"
    ? trustProxy
    : trustProxy.split(",").map((part) => part.trim())
}
