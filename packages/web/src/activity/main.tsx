// The page on which a person sees what was recorded about them.

import type { ActivityPage } from "@tallystick/client/wire"
import { askJson, type Refusal } from "../ask.ts"
import { redraw } from "../elements/redraw.ts"
import { Icon, Mark, checkIcon, crossIcon, searchIcon, waitingIcon } from "../parts/icon.tsx"
import { announce, elementOf, openPage } from "../parts/page.tsx"
import { isHidden, isLinkOver, LinkOver, Refused, Skeleton } from "../parts/refused.tsx"
import { Text } from "../parts/text.tsx"
import { timeText } from "../parts/time.tsx"
import { Verdict } from "../parts/verdict.tsx"
import { apiUrl, pathParts, root, takeToken } from "../place.ts"
import { trustedKeys } from "../trusted-keys.ts"
import { EntryRow } from "./entry-row.tsx"
import { byDay, readEntries, type ActivityEntry } from "./read-page.ts"
import "../style/tokens.css"
import "../style/base.css"
import "../style/stick.css"
import "./activity.css"

const [, workspace = ""] = pathParts()
const token = takeToken("a", workspace)
const page = openPage({ owner: workspace, zoneChanged: () => drawDays() })
const days = elementOf(<div class="days" />)
const sum = elementOf(<p class="sum" />)
const more = elementOf(<div class="more" />)
const search = document.createElement("input")

let entries: readonly ActivityEntry[] = []
let newest: ActivityPage | undefined
let asked = ""
let refused: Refusal | undefined
/** The page that was asked for last: the answer of any other is late. */
let latest: object | undefined

page.show(<Skeleton />)
await load("first")
// Typing asks again only when it stops.
let typed: ReturnType<typeof setTimeout> | undefined
search.addEventListener("input", () => {
  clearTimeout(typed)
  typed = setTimeout(() => void find(search.value), 300)
})

function find(text: string): Promise<void> {
  asked = text
  return load("first")
}

async function load(which: "first" | "older"): Promise<void> {
  page.working(true)
  const url = apiUrl(workspace, "activity")
  const cursor = which === "older" ? (newest?.nextCursor ?? 0) : 0
  url.search = new URLSearchParams({
    include: "proof",
    limit: "50",
    cursor: String(cursor),
    ...(asked.trim() !== "" && { query: asked }),
  }).toString()
  const wanted = (latest = {})
  const told = await askJson<ActivityPage>(url, { token })
  // Somebody has asked for something else meanwhile.
  if (wanted !== latest) return
  page.working(false)
  refused = told.ok ? undefined : told.refusal
  if (told.ok) {
    newest = told.value
    const read = readEntries(
      newest,
      trustedKeys.get().map(({ vkey }) => vkey),
    )
    entries = which === "older" ? [...entries, ...read] : read
  }
  draw(which)
}

function draw(which: "first" | "older"): void {
  if (newest === undefined) return page.show(<Nothing />)
  if (!search.isConnected) page.show(<Frame />)
  drawSum()
  drawDays()
  const { hasMore, total } = newest
  redraw(
    more,
    <>
      {refused !== undefined && <Refused refusal={refused} retry={() => void load(which)} isPart />}
      {hasMore && (
        <button type="button" id="older" class="button" onClick={() => void load("older")}>
          Show older
        </button>
      )}
      {entries.length > 0 && (
        <span class="quiet small">
          {entries.length.toLocaleString("en-GB")} of {total.toLocaleString("en-GB")}
        </span>
      )}
    </>,
  )
}

/** Who asks without a token, or with one of something else, is told no more than that. */
function Nothing() {
  if (refused === undefined) return <></>
  if (isLinkOver(refused)) return <LinkOver code={refused.code} whom={workspace} />
  if (!isHidden(refused)) return <Refused refusal={refused} retry={() => void load("first")} />
  return (
    <section class="top">
      <Verdict tone="neutral" title="Nothing to show">
        <p>
          This page opens with a link that <Text of={workspace} /> gives to you. Ask for a new one.
        </p>
      </Verdict>
    </section>
  )
}

function Frame() {
  search.type = "search"
  search.placeholder = "Search, for example “password”"
  search.setAttribute("aria-label", "Search your activity")
  return (
    <>
      <h1>Your activity</h1>
      <p class="lead soft">
        What <Text of={workspace} /> has recorded about you, and made visible to you. Nobody,{" "}
        <Text of={workspace} /> included, can change a line here without it showing.
      </p>
      <form role="search" class="search" onSubmit={(event: Event) => event.preventDefault()}>
        <Icon of={searchIcon} />
        {search}
      </form>
      {sum}
      {days}
      {more}
      <footer>
        <p>
          <Mark /> Kept by tallystick.{" "}
          <a href={new URL("verify", root).href}>Check an entry yourself</a>
        </p>
        {(newest?.policyVersion ?? 0) > 0 && (
          <p>Policy in force: version {newest?.policyVersion}</p>
        )}
      </footer>
    </>
  )
}

/** The exception is loud, the rule is one line. */
function drawSum(): void {
  const count = entries.length
  const broken = entries.filter(({ state }) => state === "broken").length
  sum.hidden = count === 0
  const unproven = entries.filter(({ state }) => state === "unproven").length
  const tone = broken > 0 ? "broken" : unproven > 0 ? "attention" : "intact"
  sum.className = `sum state ${tone}`
  const all =
    count === 1 ? "The entry below was" : `All ${count.toLocaleString("en-GB")} entries below were`
  const some = (part: number): string =>
    `${part} of ${count} entries below ${part === 1 ? "is" : "are"}`
  redraw(
    sum,
    <Icon of={{ broken: crossIcon, attention: waitingIcon, intact: checkIcon }[tone]} />,
    <span>
      {broken > 0
        ? `${some(broken)} not what was recorded`
        : unproven > 0
          ? `${some(unproven)} shown without a proof`
          : `${all} recomputed in this browser`}
    </span>,
  )
  announce(count === 0 ? "Nothing matches" : (sum.textContent ?? ""))
}

function drawDays(): void {
  if (entries.length === 0) return redraw(days, <Empty />)
  const today = timeText(new Date(), "day")
  const yesterday = timeText(new Date(Date.now() - 86_400_000), "day")
  redraw(
    days,
    ...byDay(entries, (timestamp) => timeText(new Date(timestamp), "day")).map(([day, of], at) => (
      <section aria-label={day}>
        <h2 class={at === 0 ? "wood wood-top" : "wood"}>
          {day === today ? "Today" : day === yesterday ? "Yesterday" : day}
          {(day === today || day === yesterday) && <span class="quiet">{day}</span>}
        </h2>
        <ol>
          {of.map((each) => (
            <EntryRow of={each} />
          ))}
        </ol>
      </section>
    )),
  )
}

function Empty() {
  if (asked.trim() === "") return <p class="empty">Nothing recorded for you yet.</p>
  const clear = (): void => {
    search.value = ""
    search.focus()
    void find("")
  }
  return (
    <p class="empty">
      Nothing matches “
      <Text of={asked} />
      ”.{" "}
      <button type="button" class="plain" onClick={clear}>
        Show everything
      </button>
    </p>
  )
}
