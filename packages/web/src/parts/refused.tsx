// What stands in place of what could not be had.

import type { Refusal } from "../ask.ts"
import { Copy } from "./copy.tsx"
import { Icon, retryIcon, waitingIcon } from "./icon.tsx"
import { Text } from "./text.tsx"
import { Verdict } from "./verdict.tsx"

/** Kept where the thing would be, with the code, the reason, and the way to try again. */
export function Refused({
  refusal: { status, code, detail, requestId },
  retry,
  isPart = false,
}: {
  readonly refusal: Refusal
  readonly retry: () => void
  readonly isPart?: boolean
}) {
  const sentence = `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`
  return (
    <section class="top" role="alert">
      <Verdict tone="attention" title={titleOf(status)} isPart={isPart}>
        <p>
          <Text of={sentence} />
        </p>
        <p class="small">
          <code>
            <Text of={code} />
          </code>
          {requestId !== undefined && (
            <>
              {", request "}
              <code>
                <Text of={requestId} />
              </code>{" "}
              <Copy text={requestId} label="Copy request id" />
            </>
          )}
        </p>
        <p class="actions">
          <button type="button" class="button" onClick={retry}>
            <Icon of={retryIcon} /> Try again
          </button>
        </p>
      </Verdict>
    </section>
  )
}

function titleOf(status: number): string {
  if (status === 0) return "No connection"
  if (status === 429) return "Too many requests"
  return "This did not work"
}

/** A link whose time is over says no more than that. */
export function LinkOver({ code, whom }: { readonly code: string; readonly whom: string }) {
  return (
    <section class="top">
      <Verdict
        tone="neutral"
        icon={waitingIcon}
        title={code === "token_revoked" ? "This link was withdrawn" : "This link has expired"}
      >
        <p>
          Ask <Text of={whom} /> for a new one.
        </p>
      </Verdict>
    </section>
  )
}

export function isLinkOver({ code }: Refusal): boolean {
  return code === "token_expired" || code === "token_revoked"
}

/** Private, unknown, or not for this link: all alike, because the answer must not tell which. */
export function isHidden({ status }: Refusal): boolean {
  return status === 401 || status === 403 || status === 404
}

/** The shape of what is to come. It is drawn late, so that quick answers never show it. */
export function Skeleton() {
  return (
    <section class="top late" aria-hidden="true">
      <div class="bones short" />
      <div class="bones" />
      <div class="bones wide" />
    </section>
  )
}
