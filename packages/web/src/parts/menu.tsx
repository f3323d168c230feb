import { elementOf, type Child } from "../elements/elements.ts"
import { Icon, downIcon } from "./icon.tsx"

interface MenuProps {
  /** Unique on the page. */
  readonly id: string
  readonly label: Child
  /** What the label names, for screen readers. */
  readonly kind?: string
  readonly buttonClass?: string
  readonly children?: Child
}

/** A button that opens a list of links and buttons. Choosing one of them closes it. */
export function Menu({ id, label, kind, buttonClass = "menu-button", children }: MenuProps) {
  const list = elementOf(
    <div id={id} popover="auto" class="menu">
      {children}
    </div>,
  )
  list.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a, button:not([data-stays])"))
      list.hidePopover()
  })
  return (
    <span class="menu-place">
      <button type="button" class={buttonClass} popovertarget={id}>
        {kind !== undefined && <span class="unseen">{kind} </span>}
        {label} <Icon of={downIcon} />
      </button>
      {list}
    </span>
  )
}
