import type { Child } from "../elements/elements.ts"
import { Icon, printIcon } from "./icon.tsx"

interface ButtonProps {
  /** `main`: the primary action of the page or dialog. `plain`: looks like a link. */
  readonly kind?: "main" | "plain" | "danger"
  /** Unique on the page: the focus returns to it when its place is drawn again. */
  readonly id?: string
  readonly onClick: (event: Event) => void
  readonly children?: Child
}

export function Button({ kind, id, onClick, children }: ButtonProps) {
  const className = kind === "plain" ? kind : ["button", kind].join(" ").trimEnd()
  return (
    <button type="button" id={id} class={className} onClick={onClick}>
      {children}
    </button>
  )
}

interface IconButtonProps {
  readonly icon: string
  /** The label, for tooltips and screen readers. */
  readonly label: string
  readonly id?: string
  readonly onClick: (event: Event) => void
}

export function IconButton({ icon, label, id, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      id={id}
      class="icon-button"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon of={icon} />
    </button>
  )
}

export function Print() {
  return (
    <button type="button" class="button wide-only" onClick={() => print()}>
      <Icon of={printIcon} /> Print
    </button>
  )
}

/**
 * For a button whose action waits for the service: it looks busy meanwhile, and another click does
 * nothing.
 */
export function waiting(act: () => Promise<unknown>): (event: Event) => void {
  return ({ currentTarget: button }) => {
    if (!(button instanceof HTMLElement) || button.ariaBusy === "true") return
    button.ariaBusy = "true"
    void act().finally(() => (button.ariaBusy = null))
  }
}
