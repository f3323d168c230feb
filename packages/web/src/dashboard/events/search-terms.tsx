// The last search: its terms as chips before the input, or all of it in the input for editing.

import { elementOf, redraw } from "../../elements/elements.ts"
import { IconButton } from "../../parts/button.tsx"
import { crossIcon } from "../../parts/icon.tsx"
import { announce } from "../../parts/page.tsx"
import { Text } from "../../parts/text.tsx"
import { chipsOf, type Chip } from "./asked.ts"

interface TermsParts {
  readonly input: HTMLInputElement
  readonly commit: (text: string) => void
}

export function createTerms({ input, commit }: TermsParts) {
  const node = elementOf(<span class="chips" />)
  let committed = ""
  /** Whether the whole search is in the input, instead of chips. */
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
    /** The terms to which the text in the input is added. */
    before,
    show(text: string): void {
      committed = text
      if (isWhole) input.value = ""
      isWhole = false
      draw()
    },
    /** Puts the whole search into the input for editing. */
    selectAll(): void {
      input.value = `${before()} ${input.value}`.trim()
      isWhole = true
      node.replaceChildren()
      input.select()
    },
    /** Puts the last chip back into the input. */
    takeBack(): void {
      const all = chipsOf(committed)
      commit(textOf(all.slice(0, -1)))
      input.value = all.at(-1)?.text ?? ""
    },
    /** Returns to chips, if the whole search was in the input. */
    restore(): void {
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
      <Text of={rest} in="span" class="chip-value cut" />
      {isUnknownField && <span class="chip-note">searched as text</span>}
      <IconButton icon={crossIcon} label={`Remove ${text}`} onClick={remove} />
    </span>
  )
}
