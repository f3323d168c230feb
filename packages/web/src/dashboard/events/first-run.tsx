// Shown while nothing is recorded: a call to try, and the place of its notch on the stick.

import type { CreatedApiKey, ListedEntry } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Copy } from "../../parts/copy.tsx"
import { number } from "../../parts/counted.ts"
import { Form } from "../../parts/form.tsx"
import { Icon, checkIcon } from "../../parts/icon.tsx"
import { Notch } from "../../parts/lane.tsx"
import { announce } from "../../parts/page.tsx"
import { ShownOnce, showSecret } from "../../parts/secret.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { root } from "../../place.ts"
import type { Desk } from "../desk.ts"
import { createArrivals } from "./arrivals.ts"
import "./first-run.css"

interface FirstRunParts {
  readonly desk: Desk
  readonly signal: AbortSignal
}

export function firstRun({ desk, signal }: FirstRunParts): HTMLElement {
  const title = elementOf(<h1>Nothing recorded yet</h1>)
  const listening = elementOf(<span class="quiet" />)
  const listen = (words: string): void =>
    redraw(
      listening,
      <>
        {words} since <Time at={new Date().toISOString()} form="second" />
      </>,
    )
  listen("listening")
  const now = elementOf(
    <div class="now wood" role="status">
      <Notch lane="security" state="pending" />
      <div>
        <b>Waiting for the first event</b>
        {listening}
      </div>
    </div>,
  )
  const lead = elementOf(
    <p class="lead">
      Send one event. It appears here within a second, cut into the chain, with a receipt that
      anyone can check.
    </p>,
  )
  const arrivals = createArrivals({
    desk,
    isAway: () => false,
    changed: () => listen(arrivals.lostAt ? "connection lost" : "listening"),
    recount: () => {},
    add(entries) {
      const first = entries.at(-1)
      if (first === undefined) return
      arrivals.stop()
      // Another list is shown meanwhile.
      if (!now.isConnected) return
      title.textContent = "The first notch is cut"
      lead.textContent = "Your event is in the chain. Its receipt is one that anyone can check."
      redraw(now, <Recorded of={first} desk={desk} />)
      announce(`The first notch is cut: ${first.action}`)
    },
  })
  arrivals.setLive(true)
  arrivals.follow(0, { projectId: "all", storage: "all" })
  signal.addEventListener("abort", () => arrivals.stop())
  return elementOf(
    <div class="first-run">
      <div class="column wood wood-top">
        {title}
        {lead}
        {desk.isAdmin ? (
          firstKey(desk)
        ) : (
          <p class="soft">
            An event is sent with a key that may write. An admin of{" "}
            <Text of={desk.workspace} in="b" /> can make one for you.
          </p>
        )}
      </div>
      {now}
      <Next />
    </div>,
  )
}

function Recorded({ of: entry, desk }: { readonly of: ListedEntry; readonly desk: Desk }) {
  const { lane, sequence, action, receipt } = entry
  return (
    <>
      <Notch lane={lane} state="sealed" />
      <div>
        <b class="state intact">
          <Icon of={checkIcon} /> Recorded as #{number(sequence)}
        </b>
        <Text of={action} in="code" />
        <a href={desk.link(["events", String(sequence)], { range: "all" })}>See it in the list</a>
        <a href={new URL(`r/${encodeURIComponent(desk.workspace)}/${receipt}`, root).href}>
          Open its receipt
        </a>
      </div>
    </>
  )
}

/** A real key, made when somebody asks for it. */
function firstKey(desk: Desk): HTMLElement {
  const place = elementOf(<div class="first-key" />)
  const key = { name: "First events", scopes: ["write"] }
  const make = () => desk.send<CreatedApiKey>("POST", ["api-keys"], key)
  const show = ({ key: secret }: CreatedApiKey): void => {
    const call = <Call workspace={desk.workspace} secret={secret} />
    showSecret(
      place,
      <ShownOnce stored={() => redraw(place, call)}>
        {call}
        <p class="soft small">
          The key in it may write to every project of <Text of={desk.workspace} in="b" />.
        </p>
      </ShownOnce>,
    )
  }
  place.append(
    <Call workspace={desk.workspace} />,
    <Form action="Make a key for it" submit={make} done={show} />,
  )
  return place
}

function Call({ workspace, secret }: { readonly workspace: string; readonly secret?: string }) {
  const key = secret ?? "…"
  const [before, after] = callText(workspace)
  return (
    <div class="terminal">
      <div class="terminal-head">
        <span>Terminal</span>
        {secret !== undefined && <Copy text={`${before}${key}${after}`} label="Copy" isWide />}
      </div>
      <pre tabIndex={0} aria-label="Call">
        <code>
          {before}
          <mark>{key}</mark>
          {after}
        </code>
      </pre>
    </div>
  )
}

function callText(workspace: string): readonly [string, string] {
  const event = {
    workspaceId: workspace,
    projectId: "core",
    action: "auth.session.created",
    actor: { id: "usr_1", type: "user", name: "Ana" },
    target: { id: "ses_1", type: "session" },
    occurredAt: new Date().toISOString(),
    source: "api",
  }
  const members = Object.entries(event).map(
    ([name, value]) => `    "${name}": ${JSON.stringify(value)}`,
  )
  const body = `{\n${members.join(",\n")}\n  }`
  return [
    `curl -sS '${new URL("v1/events", root).href}' \\\n  -H "Authorization: Bearer `,
    `" \\\n  -H "Idempotency-Key: first-event-${Date.now().toString(36)}" \\\n  -H "Content-Type: application/json" \\\n  -d '${body}'`,
  ]
}

function Next() {
  return (
    <ol class="next">
      <li class="wood">
        <h2>Write from your code</h2>
        <p>
          Any language that can post JSON, one by one or in batches of 1,000:{" "}
          <a href={new URL("docs", root).href}>API reference</a>.
        </p>
      </li>
      <li class="wood">
        <h2>Check what you get</h2>
        <p>
          Every answer is a receipt. <a href={new URL("verify", root).href}>Verify one</a>, here or
          without a network.
        </p>
      </li>
    </ol>
  )
}
