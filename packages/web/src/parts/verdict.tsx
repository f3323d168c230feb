// What was found: a verdict with a seal, a title and an explanation; or a state in one line.

import type { Child } from "../elements/elements.ts"
import { Icon, attentionIcon, checkIcon, crossIcon, noneIcon } from "./icon.tsx"

export type Tone = "intact" | "attention" | "broken" | "neutral"

export const toneIcons: Readonly<Record<Tone, string>> = {
  intact: checkIcon,
  attention: attentionIcon,
  broken: crossIcon,
  neutral: noneIcon,
}

interface VerdictProps {
  readonly tone: Tone
  readonly icon?: string | undefined
  readonly title: string
  /** For one of several verdicts on a page that has another title. */
  readonly isPart?: boolean
  readonly children?: Child
}

export function Verdict({
  tone,
  icon = toneIcons[tone],
  title,
  isPart = false,
  children,
}: VerdictProps) {
  return (
    <div class="verdict">
      <span class={`seal ${tone}`}>
        <Icon of={icon} />
      </span>
      <div>
        {isPart ? <h2>{title}</h2> : <h1>{title}</h1>}
        {children}
      </div>
    </div>
  )
}

interface StateProps {
  readonly tone: Tone
  readonly icon?: string
  /** The element around it. */
  readonly in?: "p" | "span"
  readonly class?: string
  readonly children?: Child
}

export function State(props: StateProps) {
  const { tone, icon = toneIcons[tone], in: Around = "span", class: more = "", children } = props
  return (
    <Around class={`state ${tone} ${more}`.trimEnd()}>
      <Icon of={icon} /> <span>{children}</span>
    </Around>
  )
}
