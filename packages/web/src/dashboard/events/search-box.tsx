// The search box: terms as chips, with suggestions below.

import { parseQuery } from "@tallystick/client/grammar"
import { elementOf } from "../../elements/elements.ts"
import { Icon, searchIcon } from "../../parts/icon.tsx"
import type { Finding } from "./finding.ts"
import { isEntryName } from "./open-entry.ts"
import { createTerms } from "./search-terms.tsx"
import { createSuggestions } from "./suggestion-list.tsx"

interface BoxParts {
  readonly search: (text: string) => void
  readonly finding: Pick<Finding, "values" | "names">
}

const waitMs = 150

export function createSearchBox({ search, finding }: BoxParts) {
  const input = createInput()
  const terms = createTerms({ input, commit })
  const { committed, before } = terms
  const suggestions = createSuggestions({ input, finding, committed, before, commit })
  const problem = elementOf(<p class="problem small" role="alert" />)
  let timer: ReturnType<typeof setTimeout> | undefined

  const node = (
    <form role="search" class="search-place" onSubmit={(event: Event) => submit(event)}>
      <div
        class="search-box"
        onClick={(event: Event) => event.target === event.currentTarget && input.focus()}
      >
        <Icon of={searchIcon} />
        {terms.node}
        {input}
        <kbd>/</kbd>
      </div>
      {suggestions.node}
      {problem}
    </form>
  )

  function submit(event: Event): void {
    event.preventDefault()
    const typed = input.value.trim()
    // The id of an entry opens that entry, whatever the search is.
    commit(isEntryName(typed) ? typed : `${before()} ${typed}`)
  }

  function commit(text: string): void {
    const whole = text.trim().replace(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, " ")
    const read = parseQuery(whole)
    problem.textContent = "problem" in read ? `The search ${read.problem}.` : ""
    if ("problem" in read) return
    input.value = ""
    terms.restore()
    close()
    search(whole)
  }

  function suggestSoon(): void {
    clearTimeout(timer)
    timer = setTimeout(() => void suggestions.suggest(), waitMs)
  }

  function close(): void {
    clearTimeout(timer)
    suggestions.close()
  }

  function pressed(event: KeyboardEvent): void {
    const { key } = event
    if (!suggestions.pressed(event)) {
      if (key === "Escape") input.blur()
      else if (key === "Backspace" && input.value === "" && before() !== "") {
        terms.takeBack()
        void suggestions.suggest()
      } else if (key === "a" && (event.ctrlKey || event.metaKey) && before() !== "")
        terms.selectAll()
      else return
    }
    event.preventDefault()
    event.stopPropagation()
  }

  input.addEventListener("input", suggestSoon)
  input.addEventListener("focus", () => void suggestions.suggest())
  input.addEventListener("blur", () => {
    close()
    terms.restore()
  })
  input.addEventListener("keydown", pressed)

  return {
    node,
    show(text: string): void {
      suggestions.forget()
      terms.show(text)
    },
    focus(): void {
      input.focus()
      input.scrollIntoView({ block: "nearest" })
    },
  }
}

function createInput(): HTMLInputElement {
  const input = document.createElement("input")
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
  return input
}
