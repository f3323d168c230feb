import { elementOf } from "../elements/elements.ts"
import { announce } from "../parts/page.tsx"
import { Text } from "../parts/text.tsx"

const shownMs = 4000

/** Says that something was done which the page does not show: aloud, and in a corner for a while. */
export function confirmed(text: string): void {
  announce(text)
  document.querySelector(".confirmed")?.remove()
  const said = elementOf(<Text of={text} in="p" class="confirmed" />)
  said.ariaHidden = "true"
  document.body.append(said)
  setTimeout(() => said.remove(), shownMs)
}
