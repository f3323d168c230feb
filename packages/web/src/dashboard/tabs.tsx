import type { Child } from "../elements/elements.ts"

interface TabsProps<Key> {
  readonly label: string
  /** What each tab stands for, and its name. */
  readonly tabs: readonly (readonly [key: Key, name: Child])[]
  readonly href: (key: Key) => string
  readonly current: Key
  /** For a list below: smaller, without a line. */
  readonly isSmall?: boolean
  readonly children?: Child
}

export function Tabs<Key extends string | null>(props: TabsProps<Key>) {
  const { label, tabs, href, current, isSmall = false, children } = props
  return (
    <nav class={isSmall ? "sides small" : "tabs"} aria-label={label}>
      {tabs.map(([key, name]) => (
        <a href={href(key)} aria-current={key === current ? "page" : undefined}>
          {name}
        </a>
      ))}
      {children}
    </nav>
  )
}
