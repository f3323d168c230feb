// One key of a log, and how a reader comes to trust it.

import { Copy } from "./copy.tsx"
import { Hash } from "./hash.tsx"
import { Text } from "./text.tsx"

interface KeyPanelProps {
  readonly vkey: string
  /** In hex. */
  readonly publicKey: string
  readonly trust: () => void
}

export function KeyPanel({ vkey, publicKey, trust }: KeyPanelProps) {
  return (
    <div class="panel small not-printed">
      <p>
        Everything agrees, and anyone can make a key. Compare this one with a copy that came to you
        by another way: from a contract, an e-mail, or an earlier visit.
      </p>
      <p>
        <Hash of={publicKey} />
      </p>
      <p>
        <code>
          <Text of={vkey} />
        </code>{" "}
        <Copy text={vkey} label="Copy key" />
      </p>
      <p class="actions">
        <button type="button" class="button" onClick={trust}>
          It is the same: trust this key
        </button>
      </p>
    </div>
  )
}
