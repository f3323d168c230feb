// The search box: terms as chips, and what may come next below.

import type { FieldValues } from "@tallystick/client/wire"
import { parseQuery } from "@tallystick/client/grammar"
import type { Told } from "../../ask.ts"
import { redraw } from "../../elements/redraw.ts"
import { Icon, crossIcon, searchIcon } from "../../parts/icon.tsx"
import { announce, elementOf } from "../../parts/page.tsx"
import { Text } from "../../parts/text.tsx"
import { chipsOf, type Chip } from "./asked.ts"
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
import { isEntryName } from "./open-entry.ts"

interface BoxParts {
  /** The whole search has changed. */
  readonly search: (text: string) => void
  /** Tells what may come next. */
  readonly finding: Pick<Finding, "values" | "names">
}

export interface SearchBox {
  readonly node: Node
  show(text: string): void
  focus(): void
}

const suggestionsMax = 9
const waitMs = 150

export function createSearchBox({ search, finding }: BoxParts): SearchBox {
  const input = document.createElement("input")
  const chips = elementOf(<span class="chips" />)
  const list = elementOf(<ul id="suggestions" role="listbox" aria-label="Suggestions" hidden />)
  const problem = elementOf(<p class="problem small" role="alert" />)
  let committed = ""
  /** While all of the search stands in the input, in place of its chips. */
  let isWhole = false
  let suggestions: readonly Suggestion[] = []
  let chosen = -1
  let asked: object | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Those of a field are asked for once in a while: typing on narrows what has come. */
  const counted = new Map<string, Promise<Told<FieldValues>>>()

  for (const [name, value] of Object.entries({
    id: "search",
    type: "text",
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: "Add a word, field:value or receipt id",
    "aria-label": "Search entries",
    "aria-expanded": "false",
    "aria-controls": "suggestions",
    "aria-autocomplete": "list",
  }))
    input.setAttribute(name, value)

  const node = (
    <form role="search" class="search-place" onSubmit={(event: Event) => submit(event)}>
      <div
        class="search-box"
        onClick={(event: Event) => event.target === event.currentTarget && input.focus()}
      >
        <Icon of={searchIcon} />
        {chips}
        {input}
        <kbd>/</kbd>
      </div>
      {list}
      {problem}
    </form>
  )

  function submit(event: Event): void {
    event.preventDefault()
    const typed = input.value.trim()
    // The id of an entry opens it, whatever else is looked for.
    commit(isEntryName(typed) ? typed : `${before()} ${typed}`)
  }

  /** What the text in the input is added to. */
  function before(): string {
    return isWhole ? "" : committed
  }

  /** All of it can be written over. */
  function selectAll(): void {
    input.value = `${before()} ${input.value}`.trim()
    isWhole = true
    chips.replaceChildren()
    input.select()
  }

  function commit(text: string): void {
    const whole = text.trim().replace(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, " ")
    const read = parseQuery(whole)
    if ("problem" in read) {
      problem.textContent = `The search ${read.problem}.`
      return
    }
    problem.textContent = ""
    input.value = ""
    isWhole = false
    drawChips()
    close()
    search(whole)
  }

  function drawChips(): void {
    redraw(
      chips,
      ...chipsOf(committed).map((chip) => <ChipView of={chip} remove={() => remove(chip)} />),
    )
  }

  function remove(chip: Chip): void {
    const rest = chipsOf(committed).filter((each) => each.text !== chip.text)
    announce(`Removed ${chip.text}`)
    input.focus()
    commit(rest.map(({ text }) => text).join(" "))
  }

  // Suggestions -------------------------------------------------------------------------------------

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
    return [...saved, ...others].filter(({ text }) => text !== committed).slice(0, 4)
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

  function close(): void {
    clearTimeout(timer)
    asked = undefined
    offer([])
  }

  input.addEventListener("input", () => {
    clearTimeout(timer)
    timer = setTimeout(() => void suggest(), waitMs)
  })
  input.addEventListener("focus", () => void suggest())
  input.addEventListener("blur", () => {
    close()
    if (!isWhole) return
    isWhole = false
    input.value = ""
    drawChips()
  })
  input.addEventListener("keydown", (event) => {
    const isOpen = !list.hidden
    const { key } = event
    if (isOpen && (key === "ArrowDown" || key === "ArrowUp")) {
      const count = suggestions.length
      chosen =
        (chosen + (key === "ArrowDown" ? 1 : count) + (chosen < 0 && key === "ArrowUp" ? 1 : 0)) %
        count
      drawSuggestions()
    } else if (isOpen && key === "Tab" && !event.shiftKey && input.value.trim() !== "")
      accept(Math.max(chosen, 0))
    else if (isOpen && key === "Enter" && chosen >= 0) accept(chosen)
    else if (isOpen && key === "Escape") close()
    else if (key === "Escape") input.blur()
    else if (key === "Backspace" && input.value === "" && before() !== "") takeBack()
    else if (key === "a" && (event.ctrlKey || event.metaKey) && before() !== "") selectAll()
    else return
    event.preventDefault()
    event.stopPropagation()
  })

  /** The last chip can be written again. */
  function takeBack(): void {
    const all = chipsOf(committed)
    const last = all.at(-1)?.text ?? ""
    commit(
      all
        .slice(0, -1)
        .map(({ text }) => text)
        .join(" "),
    )
    input.value = last
    void suggest()
  }

  return {
    node,
    show(text) {
      committed = text
      if (isWhole) input.value = ""
      isWhole = false
      counted.clear()
      drawChips()
    },
    focus() {
      input.focus()
      input.scrollIntoView({ block: "nearest" })
    },
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
    // The keyboard stays in the input.
    event.preventDefault()
    accept()
  }
  return (
    <li id={`suggestion-${at}`} role="option" aria-selected={isChosen} onPointerdown={take}>
      <span class="mono">
        <Text of={text} />
      </span>{" "}
      <span class="quiet">
        <Text of={beside} />
      </span>
    </li>
  )
}

/** The word that is being typed: from the last space that is in no quotation marks. */
function lastWord(text: string): string {
  return /(?:[^\s"]|"[^"]*(?:"|$))*$/.exec(text)?.[0] ?? ""
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
      <span class="chip-value">
        <Text of={rest} />
      </span>
      {isUnknownField && <span class="chip-note">searched as text</span>}
      <button type="button" class="icon-button" aria-label={`Remove ${text}`} onClick={remove}>
        <Icon of={crossIcon} />
      </button>
    </span>
  )
}
