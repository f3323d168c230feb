import type { Told } from "../ask.ts"
import { redraw, type Child } from "../elements/elements.ts"
import { RefusedLine } from "./form.tsx"

/** The last request of each place; answers to earlier ones are dropped. */
const latest = new WeakMap<Element, object>()

/** Sends a request and shows the answer, or the error with a button to retry. */
export async function showTold<Value>(
  place: Element,
  ask: () => Promise<Told<Value>>,
  /** `again` repeats the request. */
  draw: (value: Value, again: () => void) => Child,
): Promise<void> {
  const wanted = {}
  latest.set(place, wanted)
  const told = await ask()
  if (latest.get(place) !== wanted) return
  const again = (): void => void showTold(place, ask, draw)
  place.removeAttribute("aria-busy")
  redraw(
    place,
    told.ok ? <>{draw(told.value, again)}</> : <RefusedLine refusal={told.refusal} retry={again} />,
  )
}
