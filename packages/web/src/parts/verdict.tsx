// The verdict: a seal, one line, and an explanation.

import type { Child } from "../elements/jsx-runtime.ts"
import { Icon, attentionIcon, checkIcon, crossIcon, noneIcon } from "./icon.tsx"

export type Tone = "intact" | "attention" | "broken" | "neutral"

const icons: Readonly<Record<Tone, string>> = {
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
  icon = icons[tone],
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
