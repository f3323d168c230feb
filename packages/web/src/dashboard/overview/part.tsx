// A part of the overview, which loads itself and shows its own errors.

import type { Told } from "../../ask.ts"
import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { showTold } from "../../parts/show-told.tsx"
import type { KnownChain } from "../chain/chain-watch.ts"

export interface Part {
  readonly node: Node
  readonly load: (state: KnownChain) => Promise<void>
}

interface PartProps<Value> {
  readonly className: string
  readonly title: string
  readonly beside?: (value: Value) => Child
  readonly ask: (state: KnownChain) => Promise<Told<Value>>
  readonly draw: (value: Value) => Child
}

export function part<Value>({ className, title, beside, ask, draw }: PartProps<Value>): Part {
  const heading = elementOf(<h2>{title}</h2>)
  const place = elementOf(<div class="late">…</div>)
  return {
    node: (
      <section class={`part ${className}`}>
        {heading}
        {place}
      </section>
    ),
    load,
  }
  function load(state: KnownChain): Promise<void> {
    const asked = (): Promise<Told<Value>> => ask(state)
    return showTold(place, asked, (value) => {
      place.className = ""
      redraw(heading, <>{title}</>, <>{beside?.(value)}</>)
      return draw(value)
    })
  }
}
