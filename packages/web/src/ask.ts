// One request to the service, and what can come of it.

/** Why there is no answer: what the service said, or that it could not be reached. */
export interface Refusal {
  /** 0: nothing answered. */
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId?: string
}

export type Answer =
  | { readonly ok: true; readonly response: Response }
  | { readonly ok: false; readonly refusal: Refusal }

export async function ask(url: URL, token?: string, signal?: AbortSignal): Promise<Answer> {
  try {
    const response = await fetch(url, {
      headers: {
        accept: "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(signal && { signal }),
    })
    return response.ok ? { ok: true, response } : { ok: false, refusal: await refusalOf(response) }
  } catch (error) {
    if (signal?.aborted) throw error
    return {
      ok: false,
      refusal: { status: 0, code: "unreachable", detail: "the service did not answer" },
    }
  }
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
