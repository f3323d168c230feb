import type { Child } from "../elements/jsx-runtime.ts"

interface TabsProps {
  readonly label: string
  readonly tabs: readonly Tab[]
  /** For a list below: smaller, without a line. */
  readonly isSmall?: boolean
  /** Further links next to the tabs. */
  readonly children?: Child
}

interface Tab {
  readonly name: Child
  readonly href: string
  readonly isCurrent: boolean
}

/** Links that change what is shown below them. */
export function Tabs({ label, tabs, isSmall = false, children }: TabsProps) {
  return (
    <nav class={isSmall ? "sides small" : "tabs"} aria-label={label}>
      {tabs.map(({ name, href, isCurrent }) => (
        <a href={href} aria-current={isCurrent ? "page" : undefined}>
          {name}
        </a>
      ))}
      {children}
    </nav>
  )
}
