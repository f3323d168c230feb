// Keyboard shortcuts on all pages. Single letters can be switched off, for people who use speech
// input.

import { keep } from "../kept.ts"
import type { Shortcut } from "./desk.ts"

const single = keep<boolean>(
  "single letters",
  (text) => text !== "off",
  (isOn) => (isOn ? "on" : "off"),
)

/** A page that `g` and its letter lead to. */
export interface Jump {
  readonly key: string
  readonly name: string
  readonly go: () => void
}

interface KeysParts {
  readonly jumps: readonly Jump[]
  readonly signal: AbortSignal
}

export function listenToKeys({ jumps, signal }: KeysParts) {
  let ofView: readonly Shortcut[] = []
  let before = ""
  const list = document.createElement("dialog")
  list.className = "shortcuts"
  list.setAttribute("aria-label", "Keyboard")
  document.body.append(list)
  const help: Shortcut = { key: "?", does: "Show this list", act: showList }
  const pressed = (event: KeyboardEvent): void => {
    if (isForAnother(event)) return
    const jump = before === "g" ? jumps.find(({ key }) => key === event.key) : undefined
    before = before === "g" ? "" : event.key
    const act = jump?.go ?? [...ofView, help].find(({ key }) => key === event.key)?.act
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  addEventListener("keydown", pressed, { signal })
  signal.addEventListener("abort", () => list.remove())
  function showList(): void {
    draw()
    list.showModal()
  }
  function draw(): void {
    const keys: readonly (readonly [string, string])[] = [
      ...ofView.map(({ key, does }) => [key, does] as const),
      ...jumps.map(({ key, name }) => [`g ${key}`, `Go to ${name}`] as const),
      [help.key, help.does],
    ]
    list.replaceChildren(
      <form method="dialog">
        <h2>Keyboard</h2>
        <dl class="keys">
          {keys.map(([key, does]) => (
            <>
              <dt>
                {key.split(" ").map((each) => (
                  <kbd>{each === "Escape" ? "Esc" : each}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            checked={single.get()}
            onChange={({ target }: Event) => {
              if (target instanceof HTMLInputElement) single.set(target.checked)
            }}
          />{" "}
          Single letters do something
        </label>
        <p class="actions">
          <button class="button main">Close</button>
        </p>
      </form>,
    )
  }
  return {
    use: (shortcuts: readonly Shortcut[]) => void (ofView = shortcuts),
    showList,
  }
}

/** Whether a key is for the browser, for a dialog, for a sign-in, or for a text field. */
function isForAnother({ ctrlKey, metaKey, altKey, defaultPrevented, key, target }: KeyboardEvent) {
  if (ctrlKey || metaKey || altKey || defaultPrevented) return true
  if (document.querySelector("dialog[open], :popover-open, .entrance") !== null) return true
  return key.length === 1 && (!single.get() || isTyping(target))
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !/^(?:checkbox|radio|button)$/.test(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}
