// One key of a log, and how a reader comes to trust it.

import { publicKeyOf } from "../public-key.ts"
import { Button } from "./button.tsx"
import { Copy } from "./copy.tsx"
import { Hash } from "./hash.tsx"
import { Text } from "./text.tsx"

export function KeyPanel({ vkey, trust }: { readonly vkey: string; readonly trust: () => void }) {
  return (
    <div class="panel small not-printed">
      <p>
        Everything is consistent, but anyone can make a key. Compare this one with a copy that came
        to you by another way: from a contract, an e-mail, or an earlier visit.
      </p>
      <p>
        <Hash of={publicKeyOf(vkey)} />
      </p>
      <p>
        <Text of={vkey} in="code" /> <Copy text={vkey} label="Copy key" />
      </p>
      <p class="actions">
        <Button onClick={trust}>It is the same: trust this key</Button>
      </p>
    </div>
  )
}
