// How commands call a running service, and their messages when it refuses or does not answer.

import { readFileSync } from "node:fs"
import { createClient, TallystickError, type Client } from "@tallystick/client"
import { printable } from "@tallystick/proof"
import {
  anyAddress,
  ConfigError,
  httpUrl,
  readCommandConfig,
  urlOf,
  type Config,
} from "../config.ts"
import { StartError } from "../error.ts"
import { requiredRootKey } from "../operator/secret-files.ts"
import { configOf, type Terminal } from "./terminal.ts"

/** The terminal of a command that calls the running service. */
export interface AskingTerminal extends Pick<Terminal, "environment" | "say" | "remark"> {
  /** The option --url. */
  readonly url: string | undefined
}

/** A person waits, so give up soon: a service that does not answer is not running. */
const retries = { retriesMax: 2, attemptTimeoutMs: 10_000 } as const

/**
 * For commands with many calls: longer than a restart of the service takes, or the wait for a new
 * quota.
 */
export const patience = { retriesMax: 12, waitMaxMs: 60_000, timeoutMs: 180_000 } as const

/**
 * Asks the running service with the instance key. Throws a StartError if it refuses or does not
 * answer.
 */
export async function asked<T>(
  terminal: Pick<AskingTerminal, "environment" | "url">,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const config = configOf(terminal)
  const baseUrl = urlOf(terminal.url, "--url") ?? addressOf(config)
  const { rootKey: key, from } = requiredRootKey(config)
  try {
    return await ask(createClient({ baseUrl, key, ...retries }))
  } catch (error) {
    const mayHaveHappened = error instanceof TallystickError && isUnanswered(error)
    const advice = mayHaveHappened
      ? ", so it may have happened; check before you repeat it"
      : originOf(error, baseUrl, from)
    throw explained(error, baseUrl, advice)
  }
}

/** The service that a command asks with its user's key. */
export interface UserService {
  readonly client: Client
  /** Throws a StartError if the service refuses or does not answer. */
  readonly ask: <T>(ask: (client: Client) => Promise<T>) => Promise<T>
  /** Turns the error of a failed call into a message with advice. Throws any other error. */
  readonly explain: (error: unknown) => StartError
}

/**
 * The service at --url or TALLYSTICK_URL, or else on this machine, with the key TALLYSTICK_KEY.
 * Makes no call yet. With `isPatient`, calls wait for a service that restarts.
 */
export function userServiceOf(
  terminal: Pick<AskingTerminal, "environment" | "url">,
  { needsKey = true, isPatient = false } = {},
): UserService {
  const { url, key } = readCommandConfig(terminal.environment, (path) => readFileSync(path, "utf8"))
  const baseUrl = urlOf(terminal.url, "--url") ?? url ?? addressOf(configOf(terminal))
  if (key === undefined && needsKey)
    throw new ConfigError(
      "TALLYSTICK_KEY is not set; set it to an API key, which `tallystick keys create` makes",
    )
  const client = createClient({
    baseUrl,
    ...(key !== undefined && { key }),
    ...(isPatient ? {} : retries),
  })
  const origin = key === undefined ? undefined : "TALLYSTICK_KEY"
  const explain = (error: unknown): StartError =>
    explained(error, baseUrl, originOf(error, baseUrl, origin))
  const ask = async <T>(asking: (client: Client) => Promise<T>): Promise<T> => {
    try {
      return await asking(client)
    } catch (error) {
      throw explain(error)
    }
  }
  return { client, ask, explain }
}

/** Throws if the answer cannot come from our service: the address is probably wrong. */
export function requireAnswer(isOne: boolean): void {
  if (!isOne)
    throw new StartError(
      "the answer does not come from a Tallystick service; is the address right?",
    )
}

function explained(error: unknown, baseUrl: string, advice: string): StartError {
  if (!(error instanceof TallystickError)) throw error
  return new StartError(`${printable(sentenceOf(error, baseUrl))}${advice}`, { cause: error })
}

/** Where the refused credential came from, and which service has refused it. */
function originOf(error: unknown, baseUrl: string, origin: string | undefined): string {
  if (!(error instanceof TallystickError) || error.status !== 401) return ""
  const sent = `it came from ${origin}, and ${baseUrl} was asked`
  return `; ${origin === undefined ? "TALLYSTICK_KEY is not set" : sent}`
}

/** The sentence of the service, or one about the failed connection. */
function sentenceOf(error: TallystickError, baseUrl: string): string {
  const { status, code, systemCode, detail } = error
  if (code === "unexpected_answer") return `${detail}; is ${baseUrl} its address?`
  if (code === "untrusted_certificate")
    return `${detail}; if an authority of your own signed that of ${baseUrl}, set NODE_EXTRA_CA_CERTS to a file with its certificate`
  if (code === "invalid_field") return detail.replace(/^baseUrl\b/, baseUrl)
  if (status !== 0) return detail
  const named = systemCode === undefined ? "" : ` (${systemCode})`
  return isUnanswered(error)
    ? `no complete answer came from ${baseUrl}${named}`
    : `nothing answers at ${baseUrl}${named}; is the service running there?`
}

/** Whether the request may have arrived although no answer came. */
function isUnanswered({ status, outcome }: TallystickError): boolean {
  return status === 0 && outcome === "unknown"
}

/**
 * Address of the service on this machine. The instance key is sent to no other address, unless
 * --url names it.
 */
export function addressOf({ host, port }: Config): string {
  if (port === 0)
    throw new ConfigError(
      "TALLYSTICK_PORT is 0, so the service chose its port at its start; give its address with --url",
    )
  return httpUrl(anyAddress[host] ?? host, port)
}
