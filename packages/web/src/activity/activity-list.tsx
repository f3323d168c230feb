// The list of what was recorded about a person, by days, with its search: in a page of ours, and in
// the element that other pages embed.

import type { ActivityPage } from "@tallystick/client/wire"
import type { Refusal, Told } from "../ask.ts"
import { elementOf, redraw } from "../elements/elements.ts"
import { Icon, checkIcon, crossIcon, searchIcon, waitingIcon } from "../parts/icon.tsx"
import { RefusalSection } from "../parts/refusal-section.tsx"
import { Text } from "../parts/text.tsx"
import { dayMs } from "../parts/spans.ts"
import { EntryRow } from "./entry-row.tsx"
import { filled, type Reader } from "./phrases.ts"
import type { ProvenEntry } from "./prove-page.ts"

export interface ActivityParts {
  /** `actions`: the phrases of the project. */
  readonly reader: (actions: Reader["actions"]) => Reader
  readonly ask: (query: URLSearchParams) => Promise<Told<ActivityPage>>
  readonly prove: (page: ActivityPage) => Promise<Told<readonly ProvenEntry[]>>
  readonly working: (isWorking: boolean) => void
  readonly announce: (text: string) => void
  /** The first page has arrived: the list can be shown. */
  readonly opened: (list: Node, page: ActivityPage) => void
  readonly refused: (refusal: Refusal) => void
}

export interface ActivityList {
  /** Requests the first page again, or the one that was refused. */
  load(which?: Which): Promise<void>
  /** Draws the entries again: the reader's day has changed, or the words have. */
  draw(): void
}

type Which = "first" | "older"

export function createActivityList(parts: ActivityParts): ActivityList {
  const sum = elementOf(<p class="sum" part="summary" />)
  const days = elementOf(<div class="days" />)
  const more = elementOf(<div class="more" />)
  const search = createSearch(find)
  const list = (
    <div class="activity">
      {search.form}
      {sum}
      {days}
      {more}
    </div>
  )
  let entries: readonly ProvenEntry[] = []
  let newest: ActivityPage | undefined
  let asked = ""
  let refused: readonly [Which, Refusal] | undefined
  /** The page that was requested last; answers for other pages are dropped. */
  let latest: object | undefined

  async function load(which: Which = refused?.[0] ?? "first"): Promise<void> {
    parts.working(true)
    const wanted = (latest = {})
    const told = await parts.ask(
      new URLSearchParams({
        include: "proof",
        limit: "50",
        cursor: String(which === "older" ? (newest?.nextCursor ?? 0) : 0),
        ...(asked.trim() !== "" && { query: asked }),
      }),
    )
    const proven = told.ok ? await parts.prove(told.value) : told
    // Another page was requested meanwhile.
    if (wanted !== latest) return
    // Entries of another person, or of another search, never follow these.
    if (
      which === "older" &&
      told.ok &&
      (told.value.subject !== newest?.subject || told.value.query !== newest.query)
    )
      return load("first")
    parts.working(false)
    refused = proven.ok ? undefined : [which, proven.refusal]
    const isFirst = newest === undefined
    if (told.ok && proven.ok) {
      newest = told.value
      entries = which === "older" ? [...entries, ...proven.value] : proven.value
      if (isFirst) parts.opened(list, newest)
    }
    if (isFirst && !proven.ok) parts.refused(proven.refusal)
    draw()
    parts.announce((entries.length > 0 ? sum : days).textContent)
  }

  function find(text: string): void {
    asked = text
    void load("first")
  }

  function draw(): void {
    if (newest === undefined) return
    const phrases = (newest.phrases ?? []).map(({ action, text }) => [action, [text, text]])
    const reader = parts.reader(Object.fromEntries(phrases) as Reader["actions"]) // as was just made
    search.draw(reader)
    drawSum(sum, entries, reader)
    redraw(
      days,
      entries.length === 0 ? (
        <Empty asked={asked} reader={reader} clear={() => search.clear()} />
      ) : (
        <Days of={entries} reader={reader} />
      ),
    )
    redraw(
      more,
      <More
        page={newest}
        count={entries.length}
        refused={refused?.[1]}
        reader={reader}
        load={load}
      />,
    )
  }

  return { load, draw }
}

/** Debounced: searches once the reader stops typing. */
function createSearch(find: (text: string) => void) {
  const input = document.createElement("input")
  input.type = "search"
  let typed: ReturnType<typeof setTimeout> | undefined
  input.addEventListener("input", () => {
    clearTimeout(typed)
    typed = setTimeout(() => find(input.value), 300)
  })
  return {
    form: (
      <form
        role="search"
        class="search"
        part="search"
        onSubmit={(event: Event) => event.preventDefault()}
      >
        <Icon of={searchIcon} />
        {input}
      </form>
    ),
    draw({ words }: Reader) {
      input.placeholder = words.searchHint
      input.ariaLabel = words.searchLabel
    },
    clear() {
      input.value = ""
      input.focus()
      find("")
    },
  }
}

function drawSum(sum: HTMLElement, entries: readonly ProvenEntry[], reader: Reader): void {
  const { words, locale } = reader
  const count = entries.length
  const [broken = 0, unproven = 0] = ["broken", "unproven"].map(
    (state) => entries.filter((entry) => entry.state === state).length,
  )
  sum.hidden = count === 0
  const [tone, icon, phrase] =
    broken > 0
      ? (["broken", crossIcon, words.wrong] as const)
      : unproven > 0
        ? (["attention", waitingIcon, words.attention] as const)
        : (["intact", checkIcon, words.intact] as const)
  sum.className = `sum state ${tone}`
  redraw(
    sum,
    <Icon of={icon} />,
    <span>
      {filled(phrase, { part: broken || unproven, count: count.toLocaleString(locale) })}
    </span>,
  )
}

interface EmptyProps {
  readonly asked: string
  readonly reader: Reader
  readonly clear: () => void
}

function Empty({ asked, reader: { words }, clear }: EmptyProps) {
  if (asked.trim() === "") return <p class="empty">{words.nothing}</p>
  return (
    <p class="empty">
      {filled(words.noMatch, { text: <Text of={asked} /> })}{" "}
      <button type="button" class="plain" onClick={clear}>
        {words.showEverything}
      </button>
    </p>
  )
}

interface MoreProps {
  readonly page: ActivityPage
  readonly count: number
  readonly refused: Refusal | undefined
  readonly reader: Reader
  readonly load: ActivityList["load"]
}

function More({ page, count, refused, reader: { words, locale }, load }: MoreProps) {
  const shown = { count: count.toLocaleString(locale), total: page.total.toLocaleString(locale) }
  return (
    <>
      {refused && (
        <RefusalSection refusal={refused} retry={() => void load()} isPart words={words} />
      )}
      {page.hasMore && (
        <button
          type="button"
          id="older"
          class="button"
          part="button"
          onClick={() => void load("older")}
        >
          {words.showOlder}
        </button>
      )}
      {count > 0 && <span class="quiet small">{filled(words.shown, shown)}</span>}
    </>
  )
}

interface DaysProps {
  readonly of: readonly ProvenEntry[]
  readonly reader: Reader
}

function Days({ of: entries, reader }: DaysProps) {
  const { words, time } = reader
  const dayOf = (at: string | number): string => time(new Date(at), "day")
  const near: Readonly<Record<string, string>> = {
    [dayOf(Date.now() - dayMs)]: words.yesterday,
    // A day before the end of summer time is today still.
    [dayOf(Date.now())]: words.today,
  }
  return (
    <>
      {byDay(entries, dayOf).map(([day, of], at) => (
        <section aria-label={day}>
          <h2 class={at === 0 ? "wood wood-top" : "wood"} part="day">
            {near[day] ?? day}
            {near[day] && <span class="quiet">{day}</span>}
          </h2>
          <ol>
            {of.map((each) => (
              <EntryRow of={each} reader={reader} />
            ))}
          </ol>
        </section>
      ))}
    </>
  )
}

function byDay(
  entries: readonly ProvenEntry[],
  dayOf: (timestamp: string) => string,
): readonly (readonly [day: string, entries: readonly ProvenEntry[]])[] {
  const days = new Map<string, ProvenEntry[]>()
  for (const each of entries) {
    const day = dayOf(each.entry.timestamp)
    const of = days.get(day) ?? []
    of.push(each)
    days.set(day, of)
  }
  return [...days]
}
