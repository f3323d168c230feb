import type { FieldValues } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { elementOf } from "../../elements/elements.ts"
import { Text } from "../../parts/text.tsx"
import {
  fieldSuggestions,
  isCounted,
  knownValues,
  typedIn,
  valueSuggestions,
  type Suggestion,
} from "./completion.ts"
import type { Finding } from "./finding.ts"
import { recentSearches, savedSearches } from "./kept-searches.ts"

interface SuggestionParts {
  readonly input: HTMLInputElement
  /** The source of the suggestions. */
  readonly finding: Pick<Finding, "values" | "names">
  readonly committed: () => string
  readonly before: () => string
  readonly commit: (text: string) => void
}

const suggestionsMax = 9

export function createSuggestions(parts: SuggestionParts) {
  const { input, finding, committed, before, commit } = parts
  const list = elementOf(<ul id="suggestions" role="listbox" aria-label="Suggestions" hidden />)
  let suggestions: readonly Suggestion[] = []
  let chosen = -1
  let asked: object | undefined
  /** Values of a field are requested rarely, because further typing only narrows them. */
  const counted = new Map<string, Promise<Told<FieldValues>>>()

  async function suggest(): Promise<void> {
    const wanted = (asked = {})
    const word = lastWord(input.value)
    const typed = typedIn(word)
    if (input.value.trim() === "") return offer([...kept(), ...fieldSuggestions(typed)])
    if (typed.field === undefined) return offer(typed.value === "" ? [] : fieldSuggestions(typed))
    const known = knownValues(typed)
    if (known !== undefined) return offer(known)
    if (!isCounted(typed.field)) return offer([])
    const answer = counted.get(typed.field) ?? finding.values(typed.field)
    counted.set(typed.field, answer)
    const told = await answer
    if (wanted !== asked) return
    offer(told.ok ? valueSuggestions(typed, told.value.values, finding.names) : [])
  }

  function kept(): readonly Suggestion[] {
    const saved = savedSearches.get().map((text) => ({ text, beside: "saved", isSearch: true }))
    const recent = recentSearches.get().filter((text) => !savedSearches.get().includes(text))
    const others = recent.map((text) => ({ text, beside: "recent", isSearch: true }))
    return [...saved, ...others].filter(({ text }) => text !== committed()).slice(0, 4)
  }

  function offer(next: readonly Suggestion[]): void {
    suggestions = next.slice(0, suggestionsMax)
    chosen = -1
    drawSuggestions()
  }

  function drawSuggestions(): void {
    const isOpen = suggestions.length > 0 && document.activeElement === input
    list.hidden = !isOpen
    input.setAttribute("aria-expanded", String(isOpen))
    if (chosen < 0) input.removeAttribute("aria-activedescendant")
    else input.setAttribute("aria-activedescendant", `suggestion-${chosen}`)
    list.replaceChildren(
      ...suggestions.map((each, at) => (
        <Option of={each} at={at} isChosen={at === chosen} accept={() => accept(at)} />
      )),
    )
  }

  function accept(at: number): void {
    const suggestion = suggestions[at]
    if (suggestion === undefined) return
    const words = input.value.slice(0, input.value.length - lastWord(input.value).length)
    if (suggestion.isSearch === true) return commit(suggestion.text)
    if (suggestion.isField !== true) return commit(`${before()} ${words}${suggestion.text}`)
    input.value = `${words}${suggestion.text}`
    void suggest()
  }

  /** Whether a key was meant for the list. */
  function pressed({ key, shiftKey }: KeyboardEvent): boolean {
    if (list.hidden) return false
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1
      const { length } = suggestions
      chosen = chosen < 0 && step < 0 ? length - 1 : (chosen + step + length) % length
      drawSuggestions()
    } else if (key === "Tab" && !shiftKey && input.value.trim() !== "") accept(Math.max(chosen, 0))
    else if (key === "Enter" && chosen >= 0) accept(chosen)
    else if (key === "Escape") close()
    else return false
    return true
  }

  function close(): void {
    asked = undefined
    offer([])
  }

  return {
    node: list,
    suggest,
    close,
    /** The search has changed, so values must be counted again. */
    forget: () => counted.clear(),
    pressed,
  }
}

interface OptionProps {
  readonly of: Suggestion
  readonly at: number
  readonly isChosen: boolean
  readonly accept: () => void
}

function Option({ of: { text, beside }, at, isChosen, accept }: OptionProps) {
  const take = (event: Event): void => {
    // The focus stays in the input.
    event.preventDefault()
    accept()
  }
  return (
    <li id={`suggestion-${at}`} role="option" aria-selected={isChosen} onPointerdown={take}>
      <Text of={text} in="span" class="mono" /> <Text of={beside} in="span" class="quiet cut" />
    </li>
  )
}

/** The word being typed: from the last space outside quotation marks. */
function lastWord(text: string): string {
  return /(?:[^\s"]|"[^"]*(?:"|$))*$/.exec(text)?.[0] ?? ""
}
