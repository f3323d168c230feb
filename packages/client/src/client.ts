import { definedOf, isObject } from "@tallystick/proof"
import { callsBy } from "./call.ts"
import { activityCalls } from "./calls/activity.ts"
import { apiKeyCalls } from "./calls/api-keys.ts"
import { consentCalls } from "./calls/consents.ts"
import { erasureCalls } from "./calls/erasures.ts"
import { eventCalls } from "./calls/events.ts"
import { exportCalls } from "./calls/export.ts"
import { feedCalls } from "./calls/feed.ts"
import { logCalls } from "./calls/log.ts"
import { memberCalls } from "./calls/members.ts"
import { packCalls } from "./calls/packs.ts"
import { policyCalls } from "./calls/policies.ts"
import { projectCalls } from "./calls/projects.ts"
import { archiveCalls } from "./calls/archive.ts"
import { holdCalls, retentionCalls } from "./calls/retention.ts"
import { receiptCalls } from "./calls/receipts.ts"
import { serviceCalls } from "./calls/service.ts"
import { sessionCalls } from "./calls/session.ts"
import { tokenCalls } from "./calls/tokens.ts"
import { workspaceCalls } from "./calls/workspaces.ts"
import { defaultEffects, type Effects } from "./effects.ts"
import { invalidRequest } from "./error.ts"
import type { Optional } from "./given.ts"
import { createExchange } from "./exchange.ts"
import { defaultRetry, expectRetryOptions, type RetryOptions } from "./retry.ts"
import { vkeysOf } from "./trusted-keys.ts"
import { contextHeaders, type Context } from "./write.ts"

export interface ClientOptions extends Optional<RetryOptions>, Optional<Effects> {
  /** Such as `https://ledger.example.com`; empty for the origin of the page that this runs in. */
  readonly baseUrl: string
  /**
   * An API key, the instance key, or a scoped token. Without one: the browser's session, if any.
   */
  readonly key?: string | undefined
  /** Vkeys of logs that you got independently: `verify` trusts them. */
  readonly trustedKeys?: readonly string[] | undefined
  /** Sent with every write. */
  readonly context?: Context | undefined
}

/**
 * One method for each endpoint. The types of its nouns are named, because declarations that are made
 * of inferred ones leave out the comments of the methods.
 */
export interface Client {
  readonly events: ReturnType<typeof eventCalls> &
    ReturnType<typeof feedCalls> &
    ReturnType<typeof exportCalls>
  readonly consents: ReturnType<typeof consentCalls>
  readonly activity: ReturnType<typeof activityCalls>
  readonly receipts: ReturnType<typeof receiptCalls>
  readonly log: ReturnType<typeof logCalls>
  readonly policies: ReturnType<typeof policyCalls>
  readonly packs: ReturnType<typeof packCalls>
  readonly tokens: ReturnType<typeof tokenCalls>
  readonly erasures: ReturnType<typeof erasureCalls>
  readonly workspaces: ReturnType<typeof workspaceCalls>
  readonly projects: ReturnType<typeof projectCalls>
  readonly apiKeys: ReturnType<typeof apiKeyCalls>
  readonly members: ReturnType<typeof memberCalls>
  readonly retention: ReturnType<typeof retentionCalls>
  readonly holds: ReturnType<typeof holdCalls>
  readonly archive: ReturnType<typeof archiveCalls>
  readonly session: ReturnType<typeof sessionCalls>
  readonly service: ReturnType<typeof serviceCalls>
}

/** A failed call rejects with a `TallystickError`; calls that are safe to repeat are retried. */
export function createClient(options: ClientOptions): Client {
  requireOptions(options)
  const { baseUrl, key, trustedKeys = [], context = {}, ...given } = options
  const { fetch, now, sleep, random, newKey, ...retry } = {
    ...defaultEffects,
    ...defaultRetry,
    ...definedOf(given),
  }
  const effects = { fetch, now, sleep, random, newKey }
  requireUrl(baseUrl, given.fetch !== undefined || "location" in globalThis)
  requireKey(key)
  requireFunctions(effects)
  contextHeaders(context)
  expectRetryOptions(retry)
  const trusted = vkeysOf(trustedKeys)
  const call = callsBy(createExchange({ baseUrl, key, retry, effects }))
  const writing = { newKey, context }
  return {
    events: { ...eventCalls(call, writing), ...feedCalls(call, effects), ...exportCalls(call) },
    consents: consentCalls(call, writing),
    activity: activityCalls(call),
    receipts: receiptCalls(call, trusted),
    log: logCalls(call),
    policies: policyCalls(call),
    packs: packCalls(call, trusted),
    tokens: tokenCalls(call),
    erasures: erasureCalls(call),
    workspaces: workspaceCalls(call),
    projects: projectCalls(call),
    apiKeys: apiKeyCalls(call),
    members: memberCalls(call),
    retention: retentionCalls(call),
    holds: holdCalls(call),
    archive: archiveCalls(call),
    session: sessionCalls(call),
    service: serviceCalls(call),
  }
}

/** A program without types may give none, or only the address. */
function requireOptions(options: unknown): void {
  if (!isObject(options))
    throw invalidRequest(
      "options must be an object with a baseUrl, such as https://ledger.example.com",
    )
}

function requireKey(key: unknown): void {
  if (key !== undefined && (typeof key !== "string" || key === ""))
    throw invalidRequest("key must be a string that is not empty, or be absent")
}

/** A call would take a missing one for a network error and retry. */
function requireFunctions(effects: Effects): void {
  for (const [name, value] of Object.entries(effects))
    if (typeof value !== "function") throw invalidRequest(`${name} must be a function`)
}

/** Checked here, because a call would take it for a network error and retry. */
function requireUrl(baseUrl: unknown, hasOrigin: boolean): void {
  const hasForm = typeof baseUrl === "string" && /^https?:\/\/[^/?#@]+(?:\/[^?#]*)?$/.test(baseUrl)
  if (hasForm && /\/v1\/*$/.test(baseUrl))
    throw invalidRequest("baseUrl must not end in /v1, which each call adds")
  if ((baseUrl === "" && hasOrigin) || (hasForm && canParse(baseUrl))) return
  throw invalidRequest(
    "baseUrl must be the text of an http or https URL without credentials, query and fragment, such as https://ledger.example.com; only in a page it may be empty",
  )
}

/** `URL.canParse` is younger than some browsers that we promise. */
function canParse(url: string): boolean {
  try {
    return new URL(url).host !== ""
  } catch {
    return false
  }
}
