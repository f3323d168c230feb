// Reads the configuration from the environment, once, at the start. The table of
// docs/configuration.md is compared with the manuals here.

import { isIP } from "node:net"
import { dayMs } from "./clock.ts"
import { defaultLimits, type Limits } from "./limits.ts"
import { codeOf } from "./error.ts"

export interface Config {
  readonly host: string
  readonly port: number
  readonly data: string
  readonly heads: string
  readonly archive: ArchivePlace
  /**
   * Whether old entries are archived. The default folder beside a server is no place for them with a
   * database: other servers do not read it, and backups of the database lack it.
   */
  readonly archives: boolean
  /** Address of the PostgreSQL database. Undefined: the data is in the folder. */
  readonly databaseUrl: string | undefined
  /** Without a slash at its end. Undefined: derived from host and port once the port is known. */
  readonly publicUrl: string | undefined
  readonly rootKey: string | undefined
  readonly previousRootKey: string | undefined
  readonly secret: Uint8Array | undefined
  readonly previousSecret: Uint8Array | undefined
  readonly trustProxy: boolean | string
  readonly logLevel: LogLevel
  /** Undefined: no quota. */
  readonly keyRequestsPerMinute: number | undefined
  readonly limits: Limits
}

export type ArchivePlace = FolderPlace | S3Place

export interface FolderPlace {
  readonly kind: "folder"
  readonly path: string
}

export interface S3Place {
  readonly kind: "s3"
  readonly bucket: string
  /** Without slashes around it; empty for none. */
  readonly prefix: string
  readonly region: string
  /** Without a slash at its end. */
  readonly endpoint: string
  /** The bucket is in the path of URLs, not in their host. */
  readonly isPathStyle: boolean
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** The number of days for which the storage itself refuses to delete or replace an object. */
  readonly lockDays?: number
}

export type Environment = Readonly<Record<string, string | undefined>>

export type LogLevel = (typeof logLevels)[number]

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const

interface Setting {
  readonly fallback: string
  readonly manual: string
  /** May also be given as the path of a file, in the variable `<name>_FILE`. */
  readonly secret?: true
}

interface ServiceSetting extends Setting {
  /** The displayed form of the value. For a secret, only its place. */
  readonly show: (config: Config) => string
}

export const settings = {
  TALLYSTICK_HOST: {
    fallback: "127.0.0.1",
    manual:
      "IP address to listen on, or `localhost`. `0.0.0.0` for every IPv4 interface; then put TLS in front.",
    show: ({ host }) => host,
  },
  TALLYSTICK_PORT: {
    fallback: "8080",
    manual: "Port to listen on, up to 65535. `0` takes a free port and prints it.",
    show: ({ port }) => String(port),
  },
  TALLYSTICK_DATA: {
    fallback: "./data",
    manual: "Folder of the ledger. It must be on a local disk. One service at a time can use it.",
    show: ({ data }) => data,
  },
  TALLYSTICK_DATABASE_URL: {
    fallback: "none",
    manual:
      "Address of a PostgreSQL database, `postgres://user:password@host:port/name`, which then has the ledger in place of the folder. Any number of services can share it; all need the same `TALLYSTICK_SECRET` and `TALLYSTICK_ROOT_KEY`.",
    secret: true,
    show: ({ databaseUrl }) => shownDatabase(databaseUrl),
  },
  TALLYSTICK_HEADS: {
    fallback: "`<data>.heads`",
    manual:
      "File that remembers what was signed. It is outside the data, so that an old copy of the data is noticed.",
    show: ({ heads }) => heads,
  },
  TALLYSTICK_ARCHIVE: {
    fallback: "`<data>/archive`; none with a database",
    manual:
      "Where the bodies of old entries go: a folder, or `s3://bucket/prefix` with the usual `AWS_*` variables. With a database nothing is archived until this is set, to the same place for each server.",
    show: ({ archive, archives }) => {
      if (!archives) return "none"
      return archive.kind === "folder" ? archive.path : `s3://${archive.bucket}/${archive.prefix}`
    },
  },
  TALLYSTICK_ARCHIVE_PATH_STYLE: {
    fallback: "false, `true` with `AWS_ENDPOINT_URL`",
    manual:
      "`true` if the bucket is in the path of URLs, as with most storage that is not Amazon's; `false` if it is in the host.",
    show: ({ archive }) => String(archive.kind === "s3" && archive.isPathStyle),
  },
  TALLYSTICK_ARCHIVE_LOCK_DAYS: {
    fallback: "off",
    manual:
      "Days, up to 36,500, for which the storage refuses to delete a segment (S3 object lock, which the bucket must have). Nothing in it can be erased or expire earlier. `off` for no lock.",
    show: ({ archive }) => String((archive.kind === "s3" ? archive.lockDays : undefined) ?? "off"),
  },
  TALLYSTICK_PUBLIC_URL: {
    fallback: "`http://<host>:<port>`",
    manual:
      "Address that clients use: http or https, without query, fragment or user, and without `+` in its host. URLs in answers begin with it, and the names of ledgers contain its host.",
    show: ({ publicUrl, host, port }) => publicUrl ?? httpUrl(host, port),
  },
  TALLYSTICK_ROOT_KEY: {
    fallback: "made, kept in `<data>/root-key`",
    manual:
      "The instance key, which may do everything: 32 printable characters or more, without spaces.",
    secret: true,
    show: ({ rootKey, data }) => hidden(rootKey, `kept in ${data}/root-key`),
  },
  TALLYSTICK_ROOT_KEY_PREVIOUS: {
    fallback: "none",
    manual: "The former instance key. It is accepted too as long as this is set.",
    secret: true,
    show: ({ previousRootKey }) => hidden(previousRootKey),
  },
  TALLYSTICK_SECRET: {
    fallback: "made, kept in `<data>/secret`",
    manual:
      "32 bytes in hex or base64, from which the service derives its keys. Without it, stored keys and signing keys are lost.",
    secret: true,
    show: ({ secret, data }) => hidden(secret, `kept in ${data}/secret`),
  },
  TALLYSTICK_SECRET_PREVIOUS: {
    fallback: "none",
    manual: "The former secret, until `tallystick secret rotate` has finished.",
    secret: true,
    show: ({ previousSecret }) => hidden(previousSecret),
  },
  TALLYSTICK_TRUST_PROXY: {
    fallback: "false",
    manual:
      "`true`, or the addresses and networks of the proxies whose `X-Forwarded-For` is trusted, separated by commas.",
    show: ({ trustProxy }) => String(trustProxy),
  },
  TALLYSTICK_KEY_REQUESTS_PER_MINUTE: {
    fallback: "off",
    manual:
      "Requests that each API key may send in a minute, also all at once; `off` for no quota.",
    show: ({ keyRequestsPerMinute }) => String(keyRequestsPerMinute ?? "off"),
  },
  TALLYSTICK_LOG_LEVEL: {
    fallback: "info",
    manual: `One of ${logLevels.join(", ")}. Logs are JSON lines on standard error.`,
    show: ({ logLevel }) => logLevel,
  },
} as const satisfies Record<string, ServiceSetting>

/** Settings of the commands that call a service with their user's key. The service ignores them. */
export const commandSettings = {
  TALLYSTICK_URL: {
    fallback: "`http://<host>:<port>`",
    manual: "Address of the service that `events` and `receipts` ask.",
  },
  TALLYSTICK_KEY: {
    fallback: "none",
    manual: "The API key that they send.",
    secret: true,
  },
} as const satisfies Record<string, Setting>

type Name = keyof typeof settings

const limitPrefix = "TALLYSTICK_LIMIT_"
const rootKeyCharactersMin = 32
const secretBytes = 32

/** A wrong setting. The message is a sentence that begins with the variable's name. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
}

/**
 * Throws a ConfigError for the first wrong or unknown setting. `readFile` reads the file of a
 * secret.
 */
export function readConfig(variables: Environment, readFile: (path: string) => string): Config {
  const environment = withoutInjected(variables)
  refuseUnknown(environment)
  const given = (name: Name): string | undefined =>
    valueOf(environment, name, settings[name], readFile)
  const value = (name: Name): string => given(name) ?? settings[name].fallback
  const data = value("TALLYSTICK_DATA")
  const databaseUrl = databaseUrlOf(given("TALLYSTICK_DATABASE_URL"))
  return {
    host: hostOf(value("TALLYSTICK_HOST")),
    port: integerOf("TALLYSTICK_PORT", value("TALLYSTICK_PORT"), 0, 65_535),
    data,
    databaseUrl,
    archive: archiveOf(environment, given, data),
    archives: databaseUrl === undefined || given("TALLYSTICK_ARCHIVE") !== undefined,
    heads: given("TALLYSTICK_HEADS") ?? `${data.replace(/\/+$/, "")}.heads`,
    publicUrl: publicUrlOf(given("TALLYSTICK_PUBLIC_URL")),
    rootKey: rootKeyOf(given("TALLYSTICK_ROOT_KEY")),
    previousRootKey: rootKeyOf(
      given("TALLYSTICK_ROOT_KEY_PREVIOUS"),
      "TALLYSTICK_ROOT_KEY_PREVIOUS",
    ),
    secret: secretOf(given("TALLYSTICK_SECRET")),
    previousSecret: secretOf(given("TALLYSTICK_SECRET_PREVIOUS"), "TALLYSTICK_SECRET_PREVIOUS"),
    trustProxy: proxyOf(value("TALLYSTICK_TRUST_PROXY")),
    keyRequestsPerMinute: integerOrOff(
      "TALLYSTICK_KEY_REQUESTS_PER_MINUTE",
      value("TALLYSTICK_KEY_REQUESTS_PER_MINUTE"),
      1_000_000_000,
    ),
    logLevel: levelOf(value("TALLYSTICK_LOG_LEVEL")),
    limits: limitsOf(environment),
  }
}

export interface ShownSetting {
  readonly name: string
  readonly value: string
}

/** Every setting and limit, without secrets. */
export function shownSettings(config: Config): readonly ShownSetting[] {
  return [
    ...Object.entries(settings).map(([name, { show }]) => ({ name, value: show(config) })),
    ...Object.entries(config.limits).map(([limit, value]) => ({
      name: limitVariable(limit),
      value: String(value),
    })),
  ]
}

/** Throws a ConfigError for a wrong one. */
export function readCommandConfig(
  environment: Environment,
  readFile: (path: string) => string,
): { readonly url: string | undefined; readonly key: string | undefined } {
  const given = (name: keyof typeof commandSettings): string | undefined =>
    valueOf(environment, name, commandSettings[name], readFile)
  const key = given("TALLYSTICK_KEY")
  // Otherwise the error of an invalid header would show the key.
  if (key !== undefined && !/^[!-~]+$/.test(key))
    throw new ConfigError("TALLYSTICK_KEY must be one key, printable and without spaces")
  return { url: urlOf(given("TALLYSTICK_URL"), "TALLYSTICK_URL"), key }
}

/**
 * Removes variables that container platforms inject for a service named tallystick, such as its
 * address in TALLYSTICK_PORT.
 */
export function withoutInjected(environment: Environment): Environment {
  const isInjected = (name: string, value: string | undefined): boolean =>
    /^TALLYSTICK_(SERVICE|PORT)_/.test(name) ||
    (name === "TALLYSTICK_PORT" && value?.startsWith("tcp://") === true)
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => !isInjected(name, value)),
  )
}

/** The variable of a limit: `eventBytesMax` is `TALLYSTICK_LIMIT_EVENT_BYTES_MAX`. */
export function limitVariable(limit: string): string {
  return limitPrefix + limit.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

/** Every interface of a machine, and the one by which the machine itself reaches it. */
export const anyAddress: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" }

/** The address of a service that listens on this host and port. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`
}

function refuseUnknown(environment: Environment): void {
  const known = new Set<string>(Object.keys(defaultLimits).map(limitVariable))
  for (const [name, { secret }] of Object.entries<Setting>({ ...settings, ...commandSettings })) {
    known.add(name)
    if (secret) known.add(`${name}_FILE`)
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("TALLYSTICK_") || known.has(name)) continue
    throw new ConfigError(
      `${name} is not a setting of tallystick; remove it from the environment, and see \`tallystick config\` for all settings`,
    )
  }
}

function valueOf(
  environment: Environment,
  name: string,
  { secret }: Setting,
  readFile: (path: string) => string,
): string | undefined {
  const direct = environment[name]
  const path = secret ? environment[`${name}_FILE`] : undefined
  // An empty variable in a script must not become the ledger's folder.
  if (direct === "")
    throw new ConfigError(
      `${name} is set to nothing; give it a value, or take it out of the environment`,
    )
  if (direct !== undefined && path !== undefined)
    throw new ConfigError(`${name} and ${name}_FILE are both set; set one of them`)
  if (path === undefined) return direct
  try {
    return readFile(path).trim()
  } catch (cause) {
    // Not the path, which may be the secret itself, set in the wrong variable.
    const code = codeOf(cause)
    const why = code === "" ? "" : ` (${code})`
    throw new ConfigError(`${name}_FILE names a file that cannot be read${why}`, { cause })
  }
}

function hostOf(value: string): string {
  if (isIP(value) === 0 && value !== "localhost")
    throw new ConfigError("TALLYSTICK_HOST must be an IP address or localhost")
  return value
}

function integerOf(
  name: string,
  value: string,
  min: number,
  max: number,
  what = "a whole number",
): number {
  const number = /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= max))
    throw new ConfigError(`${name} must be ${what} from ${min} to ${max}`)
  return number
}

/** Undefined if the value is `off`. */
function integerOrOff(name: string, value: string, max: number): number | undefined {
  return value === "off" ? undefined : integerOf(name, value, 1, max, "off or a whole number")
}

/** Also reads an option; without a slash at its end. */
export function urlOf(value: string | undefined, name: string): string | undefined {
  if (value === undefined) return undefined
  const { protocol, search, hash, username, password } = URL.parse(value) ?? {}
  const isPlain = search === "" && hash === "" && username === "" && password === ""
  if (!isPlain || !["http:", "https:"].includes(protocol ?? ""))
    throw new ConfigError(
      `${name} must be an http or https address without query, fragment or user`,
    )
  const address = value.replace(/\/+$/, "")
  if (address.endsWith("/v1"))
    throw new ConfigError(`${name} must not end in /v1, which each path of the API begins with`)
  return address
}

function publicUrlOf(value: string | undefined): string | undefined {
  const url = urlOf(value, "TALLYSTICK_PUBLIC_URL")
  if (url !== undefined && new URL(url).hostname.includes("+"))
    throw new ConfigError(
      "TALLYSTICK_PUBLIC_URL must have a host without +: names of keys contain it, and a + ends them",
    )
  return url
}

type Given = (name: Name) => string | undefined

function archiveOf(environment: Environment, given: Given, data: string): ArchivePlace {
  const value = given("TALLYSTICK_ARCHIVE")
  if (value?.startsWith("s3:") === true) return s3PlaceOf(environment, given, value)
  for (const name of ["TALLYSTICK_ARCHIVE_PATH_STYLE", "TALLYSTICK_ARCHIVE_LOCK_DAYS"] as const)
    if (given(name) !== undefined)
      throw new ConfigError(`${name} is for an archive in S3, and TALLYSTICK_ARCHIVE is a folder`)
  if (value !== undefined && /^[a-z][a-z0-9+.-]*:\/\//i.test(value))
    throw new ConfigError("TALLYSTICK_ARCHIVE must be a folder, or s3://bucket/prefix")
  return { kind: "folder", path: value ?? `${data.replace(/\/+$/, "")}/archive` }
}

/** Reads the variables of Amazon's own programs, which most S3 services tell their users to set. */
function s3PlaceOf(environment: Environment, given: Given, value: string): S3Place {
  const [bucket, ...folders] = value
    .replace(/^s3:\/\//, "")
    .replace(/\/+$/, "")
    .split("/")
  const isName = (text: string): boolean => /^[\w=.-]+$/.test(text) && !/^\.+$/.test(text)
  if (
    bucket === undefined ||
    !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) ||
    !folders.every(isName)
  )
    throw new ConfigError(
      "TALLYSTICK_ARCHIVE must be s3://bucket/prefix; letters, digits and -_.=/ in the prefix",
    )
  const secret = (name: string): string => {
    const text = environment[name]
    // A header cannot contain other characters.
    if (text === undefined || !/^[!-~]+$/.test(text))
      throw new ConfigError(`an archive in S3 needs ${name}`)
    return text
  }
  const region = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "us-east-1"
  if (!/^[a-zA-Z0-9-]{1,64}$/.test(region)) throw new ConfigError("AWS_REGION must be a region")
  const own = environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"]
  const lockDays = integerOrOff(
    "TALLYSTICK_ARCHIVE_LOCK_DAYS",
    given("TALLYSTICK_ARCHIVE_LOCK_DAYS") ?? "off",
    36_500,
  )
  return {
    kind: "s3",
    bucket,
    prefix: folders.join("/"),
    region,
    endpoint: urlOf(own, "AWS_ENDPOINT_URL") ?? `https://s3.${region}.amazonaws.com`,
    isPathStyle: booleanOf(
      "TALLYSTICK_ARCHIVE_PATH_STYLE",
      given("TALLYSTICK_ARCHIVE_PATH_STYLE") ?? String(own !== undefined),
    ),
    accessKeyId: secret("AWS_ACCESS_KEY_ID"),
    secretAccessKey: secret("AWS_SECRET_ACCESS_KEY"),
    ...(environment["AWS_SESSION_TOKEN"] !== undefined && {
      sessionToken: secret("AWS_SESSION_TOKEN"),
    }),
    ...(lockDays !== undefined && { lockDays }),
  }
}

function booleanOf(name: string, value: string): boolean {
  if (value !== "true" && value !== "false") throw new ConfigError(`${name} must be true or false`)
  return value === "true"
}

/** The error does not show the address, because it has a password. */
export function databaseUrlOf(
  value: string | undefined,
  name = "TALLYSTICK_DATABASE_URL",
): string | undefined {
  if (value === undefined) return undefined
  const { protocol = "", pathname = "" } = URL.parse(value) ?? {}
  if (!["postgres:", "postgresql:"].includes(protocol) || pathname.length < 2)
    throw new ConfigError(
      `${name} must be the address of a database, as postgres://user:password@host:port/name, with %23 for a # in the password, %2F for a /, and so on`,
    )
  return value
}

function hidden(value: string | Uint8Array | undefined, otherwise = "none"): string {
  return value === undefined ? otherwise : "(not shown)"
}

/** Without the password, and without options, which may contain one. */
function shownDatabase(value: string | undefined): string {
  const url = value === undefined ? null : URL.parse(value)
  return url === null ? "none" : `${url.protocol}//${url.host}${url.pathname}`
}

/** Also reads what the data folder keeps. */
export function rootKeyOf(
  value: string | undefined,
  name = "TALLYSTICK_ROOT_KEY",
): string | undefined {
  if (value !== undefined && (value.length < rootKeyCharactersMin || !/^[!-~]+$/.test(value))) {
    throw new ConfigError(
      `${name} must have ${rootKeyCharactersMin} characters or more, printable and without spaces`,
    )
  }
  return value
}

/** Also reads what the data folder keeps. */
export function secretOf(
  value: string | undefined,
  name = "TALLYSTICK_SECRET",
): Uint8Array | undefined {
  if (value === undefined) return undefined
  const isHex = /^[0-9a-f]{64}$/i.test(value)
  const bytes = Buffer.from(value, isHex ? "hex" : "base64")
  const isBase64 = [bytes.toString("base64"), bytes.toString("base64url")].includes(value)
  if (!isHex && !(isBase64 && bytes.length === secretBytes))
    throw new ConfigError(`${name} must be ${secretBytes} bytes, in hex or in base64`)
  return new Uint8Array(bytes)
}

function proxyOf(value: string): boolean | string {
  if (value === "true" || value === "false") return value === "true"
  if (!value.split(",").every((part) => isNetwork(part.trim())))
    throw new ConfigError(
      "TALLYSTICK_TRUST_PROXY must be true, false, or addresses and networks, such as 10.0.0.0/8, separated by commas",
    )
  return value
}

function isNetwork(text: string): boolean {
  const [, address = "", bits] = /^([^/]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(bits ?? 1) <= (version === 4 ? 32 : 128)
}

function levelOf(value: string): LogLevel {
  const level = logLevels.find((known) => known === value)
  if (level === undefined)
    throw new ConfigError(`TALLYSTICK_LOG_LEVEL must be one of ${logLevels.join(", ")}`)
  return level
}

/** A hundred years: a date so far away still has four digits in its year. */
const limitMsMax = 36_500 * dayMs
/** The timers of Node that a connection has take 24 days at most. */
const timerMsMax = 24 * dayMs
const timers: readonly string[] = [
  "headersTimeoutMs",
  "bodyTimeoutMs",
  "keepAliveTimeoutMs",
  "stillTimeoutMs",
] satisfies (keyof Limits)[]

function limitsOf(environment: Environment): Limits {
  // Every limit is a number, and the names are unchanged.
  const limits = Object.fromEntries(
    Object.entries(defaultLimits).map(([limit, fallback]: [string, number]) => {
      const name = limitVariable(limit)
      const value = environment[name]
      return [
        limit,
        value === undefined ? fallback : integerOf(name, value, leastOf(limit), mostOf(limit)),
      ]
    }),
  ) as unknown as Limits
  return {
    ...limits,
    // A batch takes a place in the queue for each of its events, so a larger batch could never be
    // accepted.
    batchEventsMax: Math.min(limits.batchEventsMax, limits.queuedEventsMax),
    // The headers are a part of the request. Node refuses a longer time for them.
    headersTimeoutMs: Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs),
  }
}

/** A workspace begins with two entries, which commit together. */
function leastOf(limit: string): number {
  return limit === ("queuedEventsMax" satisfies keyof Limits) ? 2 : 1
}

function mostOf(limit: string): number {
  if (timers.includes(limit)) return timerMsMax
  return limit.endsWith("Ms") ? limitMsMax : Number.MAX_SAFE_INTEGER
}
