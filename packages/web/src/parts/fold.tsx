import type { Child } from "../elements/elements.ts"
import { Icon, rightIcon } from "./icon.tsx"

interface FoldProps {
  readonly title: Child
  /** After the title, in quiet ink. */
  readonly beside?: Child
  readonly id?: string
  readonly open?: boolean
  readonly children?: Child
}

export function Fold({ title, beside, children, ...attributes }: FoldProps) {
  return (
    <details {...attributes}>
      <summary>
        <Icon of={rightIcon} /> {title}{" "}
        {beside !== undefined && <span class="quiet">{beside}</span>}
      </summary>
      {children}
    </details>
  )
}
