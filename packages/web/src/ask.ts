// One request to the service, and its possible results.

import { parseJson } from "@tallystick/proof"

/** Why a request failed: the error of the service, or that it could not be reached. */
export interface Refusal {
  /** 0: nothing answered. */
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId?: string
}

/** What was asked for, or why there is none. */
export type Told<Value> = { readonly ok: true; readonly value: Value } | Refused

interface Refused {
  readonly ok: false
  readonly refusal: Refusal
}

interface Asking {
  readonly token?: string | undefined
  readonly signal?: AbortSignal
  readonly method?: "HEAD" | "POST" | "PATCH" | "DELETE"
  /** Sent as JSON, without the members that are undefined. */
  readonly body?: unknown
}

export async function ask(url: URL, asking: Asking = {}): Promise<Told<Response>> {
  const { token, signal, method = "GET", body } = asking
  try {
    const response = await fetch(url, {
      method,
      headers: {
        accept: "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    return response.ok
      ? { ok: true, value: response }
      : { ok: false, refusal: await refusalOf(response) }
  } catch (error) {
    if (signal?.aborted) throw error
    return unreachable("the service did not answer")
  }
}

/** Undefined is what an answer without a body says. */
export async function askJson<Value>(url: URL, asking: Asking = {}): Promise<Told<Value>> {
  const answer = await ask(url, asking)
  if (!answer.ok) return answer
  try {
    const text = await answer.value.text()
    // JSON.parse would mix up names of members at times.
    const value = parseJson(text)
    if (text === "" || value !== undefined) return { ok: true, value: value as Value } // the API's answer
  } catch (error) {
    if (asking.signal?.aborted) throw error
  }
  return unreachable("the answer was cut off")
}

export async function askText(url: URL, asking: Pick<Asking, "token"> = {}): Promise<Told<string>> {
  try {
    const answer = await ask(url, asking)
    return answer.ok ? { ok: true, value: await answer.value.text() } : answer
  } catch {
    return unreachable("the answer was cut off")
  }
}

/** All that was asked for, or the first refusal. */
export async function askedTogether<Values extends readonly unknown[]>(asked: {
  readonly [At in keyof Values]: Promise<Told<Values[At]>>
}): Promise<Told<Values>> {
  const values: unknown[] = []
  for (const told of await Promise.all(asked)) {
    if (!told.ok) return told
    values.push(told.value)
  }
  return { ok: true, value: values as unknown as Values } // one for each that was asked
}

export function unreachable(detail: string): Refused {
  return { ok: false, refusal: { status: 0, code: "unreachable", detail } }
}

/** For a form that is not sent. */
export function invalid(detail: string): Refused {
  return { ok: false, refusal: { status: 0, code: "invalid_field", detail } }
}

async function refusalOf(response: Response): Promise<Refusal> {
  const requestId = response.headers.get("x-request-id")
  const { error, detail } = await problemIn(response)
  return {
    status: response.status,
    code: typeof error === "string" ? error : `status ${response.status}`,
    detail: typeof detail === "string" ? detail : "the service gave no reason",
    ...(requestId !== null && { requestId }),
  }
}

/** A proxy in between may answer with something else than our JSON. */
async function problemIn(response: Response): Promise<{ error?: unknown; detail?: unknown }> {
  try {
    const problem: unknown = await response.json()
    return typeof problem === "object" && problem !== null ? problem : {}
  } catch {
    return {}
  }
}
