// The error that is shown instead of content.

import type { Refusal } from "../ask.ts"
import type { Child } from "../elements/elements.ts"
import { Copy } from "./copy.tsx"
import { waitingIcon } from "./icon.tsx"
import { RefusalSection, refusalWords } from "./refusal-section.tsx"
import { Text } from "./text.tsx"
import { Verdict } from "./verdict.tsx"

interface RefusedProps {
  readonly refusal: Refusal
  readonly retry: () => void
  readonly isPart?: boolean
}

export function Refused({ refusal, retry, isPart = false }: RefusedProps) {
  const { requestId } = refusal
  return (
    <RefusalSection
      refusal={refusal}
      retry={retry}
      isPart={isPart}
      words={refusalWords}
      beside={requestId !== undefined && <Copy text={requestId} label="Copy request id" />}
    />
  )
}

interface NoticeProps {
  readonly title: string
  readonly icon?: string
  readonly isPart?: boolean
  readonly children?: Child
}

/** Shown instead of a page, without an alarm. */
export function Notice({ children, ...verdict }: NoticeProps) {
  return (
    <section class="top">
      <Verdict tone="neutral" {...verdict}>
        <p>{children}</p>
      </Verdict>
    </section>
  )
}

interface NotOpenedProps {
  readonly refusal: Refusal
  /** Who gives out the link. */
  readonly whom: string
  readonly retry: () => void
  /** What its reader can do if it is hidden. */
  readonly children?: Child
}

/** Shown instead of a page that a link opens. */
export function NotOpened({ refusal, whom, retry, children }: NotOpenedProps) {
  if (isLinkOver(refusal)) return <LinkOver code={refusal.code} whom={whom} />
  if (isHidden(refusal)) return <Notice title="Nothing to show">{children}</Notice>
  return <Refused refusal={refusal} retry={retry} />
}

/** An expired link says only that it has expired. */
export function LinkOver({ code, whom }: { readonly code: string; readonly whom: string }) {
  return (
    <Notice
      icon={waitingIcon}
      title={code === "token_revoked" ? "This link was withdrawn" : "This link has expired"}
    >
      Ask <Text of={whom} /> for a new one.
    </Notice>
  )
}

export function isLinkOver({ code }: Refusal): boolean {
  return code === "token_expired" || code === "token_revoked"
}

/** Private, unknown, or not for this link: one text, because the answer must not tell which. */
export function isHidden({ status }: Refusal): boolean {
  return [401, 403, 404].includes(status)
}

/**
 * A placeholder for content that is loading. It appears late, so that quick answers never show it.
 */
export function Skeleton() {
  return (
    <section class="top late" aria-hidden="true">
      <div class="bones short" />
      <div class="bones" />
      <div class="bones wide" />
    </section>
  )
}
