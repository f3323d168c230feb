import type { Child } from "../elements/jsx-runtime.ts"
import { Button } from "./button.tsx"
import { Copy } from "./copy.tsx"
import { Icon, attentionIcon } from "./icon.tsx"

interface SecretProps {
  readonly secret: string
  /** What is copied, in words: `Copy key`. */
  readonly label: string
  readonly stored: () => void
  /** What it is for. */
  readonly children?: Child
}

/** A secret that is shown once: it goes when its reader says that they have it. */
export function Secret({ secret, label, stored, children }: SecretProps) {
  return (
    <div class="secret">
      {children}
      <p class="secret-text">
        <code>{secret}</code> <Copy text={secret} label={label} isWide />
      </p>
      <p class="small soft state attention">
        <Icon of={attentionIcon} /> <span>It is shown this once, and kept nowhere.</span>
      </p>
      <p class="actions">
        <Button kind="main" onClick={stored}>
          I stored it
        </Button>
      </p>
    </div>
  )
}
