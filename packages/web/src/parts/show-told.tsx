import type { Told } from "../ask.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { redraw } from "../elements/redraw.ts"
import { RefusedLine } from "./form.tsx"

/** Asks, and shows the answer, or why there is none beside a button that asks again. */
export async function showTold<Value>(
  place: Element,
  ask: () => Promise<Told<Value>>,
  /** `again` asks once more: what is shown has changed. */
  draw: (value: Value, again: () => void) => Child,
): Promise<void> {
  const told = await ask()
  const again = (): void => void showTold(place, ask, draw)
  place.removeAttribute("aria-busy")
  redraw(
    place,
    told.ok ? <>{draw(told.value, again)}</> : <RefusedLine refusal={told.refusal} retry={again} />,
  )
}
