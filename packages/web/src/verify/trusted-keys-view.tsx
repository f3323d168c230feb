// The keys that the reader trusts, and a way to add one.

import { elementOf, redraw } from "../elements/elements.ts"
import { Copy } from "../parts/copy.tsx"
import { announce } from "../parts/page.tsx"
import { Text, Unseen } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import { distrust, isLogKey, trust, trustedKeys } from "../trusted-keys.ts"

export function TrustedKeys() {
  const list = elementOf(<div />)
  const draw = (): void => redraw(list, <List />)
  draw()
  trustedKeys.watch(draw)
  return (
    <section class="not-printed" aria-labelledby="keys">
      <h2 id="keys">
        Keys I trust <span class="quiet">kept in this browser only</span>
      </h2>
      {list}
      <AddKey />
    </section>
  )
}

function List() {
  const keys = trustedKeys.get()
  if (keys.length === 0)
    return (
      <p class="soft small">
        None yet. Without one, evidence is consistent at best: anyone can make a key. Whoever runs
        the ledger tells you its key, which is the text of <code>log.vkey</code>.
      </p>
    )
  return (
    <ul class="keys">
      {keys.map(({ vkey, since }) => (
        <li>
          <Text of={vkey} in="code" />
          <span class="quiet small">
            since <Time at={since} form="date" />
          </span>
          <Copy text={vkey} label="Copy key" />
          <button type="button" class="plain small" onClick={() => distrust(vkey)}>
            Remove
            <Unseen after=" key " of={vkey} />
          </button>
        </li>
      ))}
    </ul>
  )
}

function AddKey() {
  const field = document.createElement("input")
  field.className = "field mono"
  field.id = "new-key"
  field.placeholder = "name+8 hex digits+base64"
  field.autocomplete = "off"
  field.spellcheck = false
  field.setAttribute("aria-describedby", "new-key-fault")
  const fault = elementOf(<p id="new-key-fault" class="attention small" />)
  const add = (event: Event): void => {
    event.preventDefault()
    const vkey = field.value.trim()
    const isKey = isLogKey(vkey)
    fault.textContent = isKey
      ? ""
      : "This is not the key of a log: a name, 8 hex digits and base64, with a + between them."
    field.setAttribute("aria-invalid", String(!isKey))
    if (!isKey) return field.focus()
    trust(vkey)
    field.value = ""
    announce("The key is trusted")
  }
  return (
    <form class="add-key" onSubmit={add}>
      <label for="new-key" class="small">
        Add a key
      </label>
      <div>
        {field}
        <button type="submit" class="button">
          Trust this key
        </button>
      </div>
      {fault}
    </form>
  )
}
