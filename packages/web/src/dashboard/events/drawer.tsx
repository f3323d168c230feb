// One entry beside the list: what happened, how far it is proven, and everything that was recorded.

import type { CreatedReceiptToken, ListedEntry, Party } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import type { Child } from "../../elements/jsx-runtime.ts"
import { redraw } from "../../elements/redraw.ts"
import { Copy } from "../../parts/copy.tsx"
import { Hash } from "../../parts/hash.tsx"
import {
  Icon,
  attentionIcon,
  checkIcon,
  crossIcon,
  historyIcon,
  leftIcon,
  minusIcon,
  pendingIcon,
  plusIcon,
  rightIcon,
  waitingIcon,
} from "../../parts/icon.tsx"
import { LaneLetter } from "../../parts/lane.tsx"
import { elementOf } from "../../parts/page.tsx"
import { Refused, Skeleton } from "../../parts/refused.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { root } from "../../place.ts"
import type { Desk } from "../desk.ts"
import { openLinkDialog } from "../link-dialog.tsx"
import { termText } from "./asked.ts"
import { clockApart, Name } from "./entry-line.tsx"
import { Sentence } from "./entry-sentence.tsx"
import { Metadata } from "./metadata.tsx"
import type { Neighbours } from "./open-entry.ts"
import type { Recomputed } from "./recompute.ts"
import { related } from "./related.tsx"

export interface OpenedEntry extends Neighbours {
  readonly found: Recomputed
}

interface DrawerParts {
  readonly desk: Desk
  /** Adds a term to the search, or takes entries that match it out. */
  readonly find: (term: string) => void
  /** To the row above or below. */
  readonly step: (by: -1 | 1) => void
  readonly close: () => void
  readonly entryHref: (sequence: number) => string
  readonly mark: (entry: ListedEntry) => void
  readonly isMarked: (entry: ListedEntry) => boolean
}

export interface Drawer {
  readonly node: HTMLElement
  show(opened: OpenedEntry): void
  refused(refusal: Refusal, retry: () => void): void
  /** There is no such entry, or not for this reader. */
  missing(name: string): void
  waiting(): void
  marked(isMarked: boolean): void
}

export function createDrawer(parts: DrawerParts): Drawer {
  const node = elementOf(<aside class="drawer" aria-label="Entry" tabIndex={-1} />)
  const frame = (title: Child, entry: ListedEntry | undefined, ...content: readonly Node[]): void =>
    redraw(node, <Head title={title} entry={entry} {...parts} />, ...content)
  return {
    node,
    show: (opened) =>
      frame(<Text of={opened.entry.action} />, opened.entry, <Whole opened={opened} {...parts} />),
    refused: (refusal, retry) =>
      frame("Entry", undefined, <Refused refusal={refusal} retry={retry} isPart />),
    missing: (name) =>
      frame(
        "No such entry",
        undefined,
        <p class="soft">
          There is no entry <Text of={name} /> in this workspace, or it is not for you to see.
        </p>,
      ),
    marked(isMarked) {
      const button = document.getElementById("entry-mark")
      if (button !== null) button.textContent = markText(isMarked)
    },
    waiting() {
      if (node.childElementCount === 0) frame("", undefined, <Skeleton />)
    },
  }
}

interface HeadProps extends DrawerParts {
  readonly title: Child
  readonly entry: ListedEntry | undefined
}

function Head({ title, entry, step, close, entryHref }: HeadProps) {
  return (
    <div class="drawer-head">
      <h2>{title}</h2>
      <button
        type="button"
        id="entry-above"
        class="icon-button"
        aria-label="Newer entry"
        title="Newer entry"
        onClick={() => step(-1)}
      >
        <Icon of={leftIcon} />
      </button>
      <button
        type="button"
        id="entry-below"
        class="icon-button"
        aria-label="Older entry"
        title="Older entry"
        onClick={() => step(1)}
      >
        <Icon of={rightIcon} />
      </button>
      {entry !== undefined && <Copy text={entryHref(entry.sequence)} label="Copy link" />}
      <button
        type="button"
        id="entry-close"
        class="icon-button"
        aria-label="Close"
        title="Close"
        onClick={close}
      >
        <Icon of={crossIcon} />
      </button>
    </div>
  )
}

interface WholeProps extends DrawerParts {
  readonly opened: OpenedEntry
}

function Whole({ opened, ...parts }: WholeProps) {
  const { entry, found } = opened
  return (
    <>
      <Sentence of={entry} />
      <Trail {...opened} />
      {found.failure !== undefined && <Failure of={found} />}
      <Particulars entry={entry} {...parts} />
      <Metadata of={entry.metadata} />
      <Link opened={opened} entryHref={parts.entryHref} />
      <ReceiptPart entry={entry} {...parts} />
      <Provenance of={entry} />
      {related(entry, parts.desk, parts.entryHref)}
      <Canonical of={entry} />
    </>
  )
}

/** How far it is proven, on the stick. */
function Trail({ entry, found }: OpenedEntry) {
  const isSealed = found.state === "sealed"
  const [, key = ""] = entry.proof?.vkey.split("+") ?? []
  const verified = {
    sealed: ["intact", checkIcon, "Verified", "hash, link and place,", "in this browser"],
    pending: ["intact", checkIcon, "Verified", "hash and link,", "in this browser"],
    unproven: ["attention", attentionIcon, "Not checked", "no proof came", "with it"],
    broken: ["broken", crossIcon, "Broken", "this is not what", "was recorded"],
  } as const
  const [tone, icon, word, first, second] = verified[found.state]
  return (
    <ol class="trail">
      <Step tone="intact" icon={checkIcon} word="Recorded">
        #{entry.sequence.toLocaleString("en-GB")}, on disk
        <br />
        <Time at={entry.timestamp} form="second" />
      </Step>
      {isSealed ? (
        <Step tone="intact" icon={checkIcon} word="Sealed">
          by checkpoint #{(found.checkpointSize ?? 0).toLocaleString("en-GB")}
          <br />
          key <code>{key}</code>
        </Step>
      ) : (
        <Step tone="pending" icon={pendingIcon} word={found.state === "pending" ? "Pending" : "–"}>
          {found.state === "pending" ? "no checkpoint covers it yet" : ""}
        </Step>
      )}
      <Step tone={tone} icon={icon} word={word}>
        {first}
        <br />
        {second}
      </Step>
    </ol>
  )
}

interface StepProps {
  readonly tone: string
  readonly icon: string
  readonly word: string
  readonly children?: Child
}

function Step({ tone, icon, word, children }: StepProps) {
  return (
    <li class={tone}>
      <span class={`state ${tone}`}>
        <Icon of={icon} /> {word}
      </span>
      <span class="said">{children}</span>
    </li>
  )
}

function Failure({ of: { failure, expected, found } }: { readonly of: Recomputed }) {
  return (
    <div class="panel small">
      <p class="broken">
        What is shown here does not hash to what was recorded. It differs in{" "}
        <code>
          <Text of={failure ?? ""} />
        </code>
        .
      </p>
      {expected !== undefined && (
        <p>
          Expected <code>{<Text of={expected} />}</code>
          {found !== undefined && (
            <>
              , found <code>{<Text of={found} />}</code>
            </>
          )}
        </p>
      )}
      <p>Keep this entry, and ask whoever runs the ledger.</p>
    </div>
  )
}

interface ParticularsProps extends DrawerParts {
  readonly entry: ListedEntry
}

function Particulars({ entry, desk, find }: ParticularsProps) {
  const { actor, target, projectId, lane, source, kind } = entry
  const own = (field: string, value: string, shown?: Child) => (
    <Particular term={termText(field, value)} find={find}>
      {shown ?? <Text of={value} />}
    </Particular>
  )
  return (
    <dl class="particulars">
      <Times of={entry} />
      <dt>Actor</dt>
      {own("actor", actor.id, <Thing of={actor} desk={desk} />)}
      <dt>Target</dt>
      {own("target", target.id, <Thing of={target} desk={desk} />)}
      <dt>Action</dt>
      {own("action", entry.action)}
      <dt>Project</dt>
      {own("project", projectId)}
      <dt>Lane</dt>
      {own(
        "lane",
        lane,
        <>
          <LaneLetter of={lane} /> <Text of={lane} />
        </>,
      )}
      <dt>Source</dt>
      {own("source", source)}
      {kind !== "event" && <dt>Kind</dt>}
      {kind !== "event" && own("kind", kind)}
    </dl>
  )
}

function Times({ of: entry }: { readonly of: ListedEntry }) {
  const received = entry.receivedAt ?? entry.timestamp
  const apart = clockApart(entry)
  const ms = Date.parse(received) - Date.parse(entry.occurredAt)
  return (
    <>
      <dt>Occurred</dt>
      <dd>
        <Time at={entry.occurredAt} form="exact" />
      </dd>
      <dt>Received</dt>
      <dd>
        {apart === undefined ? (
          <>
            {ms >= 0 ? `${(ms / 1000).toFixed(3)} s later` : `${(-ms / 1000).toFixed(3)} s before`}{" "}
            <span class="quiet">
              <Time at={received} form="second" />
            </span>
          </>
        ) : (
          <>
            <Time at={received} form="exact" />
            <span class={entry.clockAhead ? "attention" : "soft"}>
              <Icon of={waitingIcon} /> {apart}
            </span>
          </>
        )}
      </dd>
    </>
  )
}

interface ParticularProps {
  readonly term: string
  readonly find: (term: string) => void
  readonly children?: Child
}

function Particular({ term, find, children }: ParticularProps) {
  return (
    <dd>
      {children}
      <span class="add">
        <button
          type="button"
          class="icon-button"
          aria-label={`Search ${term}`}
          title={`Search ${term}`}
          onClick={() => find(term)}
        >
          <Icon of={plusIcon} />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label={`Search without ${term}`}
          title={`Search without ${term}`}
          onClick={() => find(`-${term}`)}
        >
          <Icon of={minusIcon} />
        </button>
      </span>
    </dd>
  )
}

interface ThingProps {
  readonly of: Party
  readonly desk: Desk
}

/** Its name leads to everything it did and everything done to it. */
function Thing({ of: party, desk }: ThingProps) {
  const { id, type, name, email } = party
  return (
    <>
      {type === undefined ? (
        <Name of={party} />
      ) : (
        <a href={desk.link(["things", type, id])} title="Its history">
          <Name of={party} /> <Icon of={historyIcon} />
        </a>
      )}
      <code class="quiet">
        <Text of={aside(party)} />
      </code>
      {typeof email === "string" && name !== undefined && (
        <span class="quiet">
          <Text of={email} />
        </span>
      )}
    </>
  )
}

/** `usr_1 · user`, without what its name says already. */
function aside({ id, type, name, email }: Party): string {
  const isShown = typeof name !== "string" && typeof email !== "string"
  return [isShown ? undefined : id, type].filter((text) => text !== undefined).join(" · ")
}

interface LinkProps {
  readonly opened: OpenedEntry
  readonly entryHref: (sequence: number) => string
}

/** The two ends of the link that must be equal: the picture is the check. */
function Link({ opened: { entry, before, found }, entryHref }: LinkProps) {
  const hash = found.hash ?? entry.hash
  const previous = found.previousHash ?? entry.previousHash
  const number = (sequence: number): string => `#${sequence.toLocaleString("en-GB")}`
  const isEqual = before?.hash === previous
  return (
    <>
      <h3>
        Hash <span class="quiet">SHA-256</span>
        <Copy text={hash} label="Copy hash" />
      </h3>
      <p class="hash-of-entry">
        <Hash of={hash} />
      </p>
      <h3>
        Previous{" "}
        {before === undefined ? (
          <span class="quiet">{entry.sequence === 1 ? "the ledger itself" : ""}</span>
        ) : (
          <a href={entryHref(before.sequence)}>{number(before.sequence)}</a>
        )}
        <Copy text={previous} label="Copy previous hash" />
      </h3>
      <p class="hash-of-entry">
        <Hash of={previous} />
      </p>
      {before !== undefined && (
        <p class="join">
          <span>{number(before.sequence)} is</span>
          <b>{before.hash.slice(-4)}</b>
          <span class={isEqual ? "intact" : "broken"}>
            <Icon of={isEqual ? checkIcon : crossIcon} />
            <span class="unseen">{isEqual ? "equal" : "not equal"}</span>
          </span>
          <b>{previous.slice(-4)}</b>
          <span>says {number(entry.sequence)}</span>
        </p>
      )}
    </>
  )
}

function ReceiptPart({ entry, desk, mark, isMarked }: ParticularsProps) {
  const { receipt } = entry
  const page = new URL(`r/${encodeURIComponent(desk.workspace)}/${receipt}`, root).href
  return (
    <>
      <h3>
        Receipt
        <Copy text={receipt} label="Copy receipt id" />
      </h3>
      <p class="receipt-id">
        <code>
          <Text of={receipt} />
        </code>
      </p>
      <p class="actions receipt-actions">
        <a class="button" href={page}>
          Open receipt page
        </a>
        <button type="button" class="button" onClick={() => openLink(desk, receipt)}>
          Share it…
        </button>
        <button type="button" id="entry-mark" class="button" onClick={() => mark(entry)}>
          {markText(isMarked(entry))}
        </button>
      </p>
    </>
  )
}

/** For somebody without an account. */
function openLink(desk: Desk, receipt: string): void {
  openLinkDialog<CreatedReceiptToken>(desk, {
    title: "Share this receipt",
    path: ["receipts", receipt, "token"],
    daysUsual: 7,
    daysMax: 90,
    address: ({ verificationUrl }) => verificationUrl,
    opens: "Whoever opens this link sees this one receipt and its proof.",
  })
}

function markText(isMarked: boolean): string {
  return isMarked ? "Unmark" : "Mark for a pack"
}

function Provenance({
  of: { provenance = {}, id, policyVersion, userVisible },
}: {
  readonly of: ListedEntry
}) {
  const rows: readonly (readonly [name: string, value: unknown])[] = [
    ["Event id", id],
    ...Object.entries(provenance),
    ["policyVersion", policyVersion],
    ["visible to its person", userVisible ? "yes" : "no"],
  ]
  return (
    <details class="fold" id="provenance">
      <summary>
        <Icon of={rightIcon} /> Provenance{" "}
        <span class="quiet">
          {[provenance.environment, provenance.keyId && `key ${provenance.keyId}`]
            .filter((text) => text !== undefined)
            .map((text) => (
              <Text of={String(text)} />
            ))}
        </span>
      </summary>
      <dl class="particulars">
        {rows
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <>
              <dt>
                <Text of={name} />
              </dt>
              <dd>
                <code>
                  <Text of={String(value)} />
                </code>
              </dd>
            </>
          ))}
      </dl>
    </details>
  )
}

function Canonical({ of: { proof } }: { readonly of: ListedEntry }) {
  if (proof === undefined) return <></>
  const bytes = new TextEncoder().encode(proof.body).length
  return (
    <details class="fold" id="canonical">
      <summary>
        <Icon of={rightIcon} /> Canonical bytes{" "}
        <span class="quiet">{bytes.toLocaleString("en-GB")} B, hashed exactly as shown</span>
      </summary>
      <pre class="code" tabIndex={0} aria-label="Canonical bytes">
        <Text of={proof.body} />
      </pre>
      <p class="actions">
        <Copy text={proof.body} label="Copy bytes" isWide />
        <Copy text={proof.record} label="Copy record" isWide />
      </p>
    </details>
  )
}
