import { redraw, type Child } from "../elements/elements.ts"
import { Button } from "./button.tsx"
import { Copy } from "./copy.tsx"
import { State } from "./verdict.tsx"

interface ShownOnceProps {
  readonly stored: () => void
  /** The secret, and its purpose. */
  readonly children?: Child
}

/** Something that is shown once. The page is not left until the reader confirms that they saved it. */
export function ShownOnce({ stored, children }: ShownOnceProps) {
  return (
    <div class="secret">
      {children}
      <State in="p" class="small" tone="attention">
        <b role="alert" /> It is shown this once, and kept nowhere.
      </State>
      <p class="actions">
        <Button kind="main" onClick={stored}>
          I stored it
        </Button>
      </p>
    </div>
  )
}

interface SecretProps extends ShownOnceProps {
  readonly secret: string
  readonly label: string
}

export function Secret({ secret, label, stored, children }: SecretProps) {
  return (
    <ShownOnce stored={stored}>
      {children}
      <p class="secret-text">
        <code>{secret}</code> <Copy text={secret} label={label} isWide />
      </p>
    </ShownOnce>
  )
}

/** Shows it in place of what asked for it, with the focus on its first button, which copies it. */
export function showSecret(place: Element, secret: Node): void {
  redraw(place, secret)
  place.querySelector("button")?.focus()
}

/** One that is not stored yet, or that the first run is making. */
export const heldSecret = ".secret, .first-key .main:disabled"

/** The reader was about to leave. Returns whether there is a secret that they have not stored. */
export function holdSecret(): boolean {
  const secret = document.querySelector(heldSecret)
  secret?.querySelector("[role=alert]")?.replaceChildren("Store it first.")
  secret?.querySelector<HTMLElement>(".main")?.focus()
  return secret !== null
}
