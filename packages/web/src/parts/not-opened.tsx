import type { Refusal } from "../ask.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { isHidden, isLinkOver, LinkOver, Notice, Refused } from "./refused.tsx"

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
