import type { Child } from "../elements/jsx-runtime.ts"
import { Button } from "./button.tsx"
import { Copy } from "./copy.tsx"
import { Icon, attentionIcon } from "./icon.tsx"

interface SecretProps {
  readonly secret: string
  /** The label: `Copy key`. */
  readonly label: string
  readonly stored: () => void
  /** The purpose of the secret. */
  readonly children?: Child
}

/** A secret that is shown once, until the reader confirms that they have saved it. */
export function Secret({ secret, label, stored, children }: SecretProps) {
  return (
    <div class="secret">
      {children}
      <p class="secret-text">
        <code>{secret}</code> <Copy text={secret} label={label} isWide />
      </p>
      <p class="small soft state attention">
        <Icon of={attentionIcon} />{" "}
        <span>
          <b role="alert" /> It is shown this once, and kept nowhere.
        </span>
      </p>
      <p class="actions">
        <Button kind="main" onClick={stored}>
          I stored it
        </Button>
      </p>
    </div>
  )
}

/** The reader was about to leave. */
export function holdSecret(): void {
  const secret = document.querySelector(".secret")
  secret?.querySelector("[role=alert]")?.replaceChildren("Store it first.")
  secret?.querySelector<HTMLElement>(".main")?.focus()
}
