// The search as it was asked for last: its terms as chips before the input, or all of it in the
// input, to be written over.

import { redraw } from "../../elements/redraw.ts"
import { IconButton } from "../../parts/icon-button.tsx"
import { crossIcon } from "../../parts/icon.tsx"
import { announce, elementOf } from "../../parts/page.tsx"
import { Text } from "../../parts/text.tsx"
import { chipsOf, type Chip } from "./asked.ts"

interface TermsParts {
  readonly input: HTMLInputElement
  readonly commit: (text: string) => void
}

export interface Terms {
  readonly node: HTMLElement
  readonly committed: () => string
  /** What the text in the input is added to. */
  readonly before: () => string
  show(text: string): void
  /** All of it can be written over. */
  selectAll(): void
  /** The last chip can be written again. */
  takeBack(): void
  /** Chips again, if all of it was in the input. */
  restore(): void
}

export function createTerms({ input, commit }: TermsParts): Terms {
  const node = elementOf(<span class="chips" />)
  let committed = ""
  /** While all of the search stands in the input, in place of its chips. */
  let isWhole = false
  const before = (): string => (isWhole ? "" : committed)
  const draw = (): void =>
    redraw(
      node,
      ...chipsOf(committed).map((chip) => <ChipView of={chip} remove={() => remove(chip)} />),
    )
  function remove(chip: Chip): void {
    const rest = chipsOf(committed).filter((each) => each.text !== chip.text)
    announce(`Removed ${chip.text}`)
    input.focus()
    commit(textOf(rest))
  }
  return {
    node,
    committed: () => committed,
    before,
    show(text) {
      committed = text
      if (isWhole) input.value = ""
      isWhole = false
      draw()
    },
    selectAll() {
      input.value = `${before()} ${input.value}`.trim()
      isWhole = true
      node.replaceChildren()
      input.select()
    },
    takeBack() {
      const all = chipsOf(committed)
      commit(textOf(all.slice(0, -1)))
      input.value = all.at(-1)?.text ?? ""
    },
    restore() {
      if (!isWhole) return
      input.value = ""
      isWhole = false
      draw()
    },
  }
}

function textOf(chips: readonly Chip[]): string {
  return chips.map(({ text }) => text).join(" ")
}

function ChipView({ of: chip, remove }: { readonly of: Chip; readonly remove: () => void }) {
  const { text, field, isNot, isUnknownField } = chip
  const rest = field === undefined ? text.replace(/^-/, "") : text.slice(text.indexOf(":") + 1)
  return (
    <span
      class={isUnknownField ? "chip unknown" : "chip"}
      title={isUnknownField ? "Searched as text" : undefined}
    >
      <span class="chip-field">
        {isNot && "−"}
        {field !== undefined && `${field}:`}
      </span>
      <Text of={rest} in="span" class="chip-value" />
      {isUnknownField && <span class="chip-note">searched as text</span>}
      <IconButton icon={crossIcon} label={`Remove ${text}`} onClick={remove} />
    </span>
  )
}
