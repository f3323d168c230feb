// One entry beside the list: what happened, how far it is proven, and everything that was recorded.

import type { CreatedReceiptToken, ListedEntry } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import type { Child } from "../../elements/jsx-runtime.ts"
import { redraw } from "../../elements/redraw.ts"
import { Copy } from "../../parts/copy.tsx"
import { Icon, crossIcon, heldIcon, leftIcon, rightIcon } from "../../parts/icon.tsx"
import { elementOf } from "../../parts/page.tsx"
import { Refused, Skeleton } from "../../parts/refused.tsx"
import { Text } from "../../parts/text.tsx"
import { root } from "../../place.ts"
import type { Desk } from "../desk.ts"
import { openLinkDialog } from "../link-dialog.tsx"
import { termText } from "./asked.ts"
import { EntryLink } from "./entry-link.tsx"
import type { OpenedEntry } from "./entry-panel.ts"
import { Sentence } from "./entry-sentence.tsx"
import { Failure, Trail } from "./entry-trail.tsx"
import { goneSentence, goneText, heldText } from "./gone-content.ts"
import { Metadata } from "./metadata.tsx"
import { Particulars } from "./particulars.tsx"
import { related } from "./related.tsx"
import { Terms } from "./term-buttons.tsx"

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
      frame(
        goneText(opened.entry) ?? <Text of={opened.entry.action} />,
        opened.entry,
        <Whole opened={opened} {...parts} />,
      ),
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
      if (button === null) return
      button.textContent = markText(isMarked)
      button.scrollIntoView({ block: "nearest" })
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
  const gone = goneSentence(entry)
  const isGone = goneText(entry) !== undefined
  return (
    <>
      {!isGone && <Sentence of={entry} />}
      {gone !== undefined && <p class="panel small">{gone}</p>}
      {entry.held === true && (
        <p class="state quiet small">
          <Icon of={heldIcon} /> {heldText}.
        </p>
      )}
      <Trail {...opened} />
      {found.failure !== undefined && <Failure of={found} />}
      {!isGone && <Particulars entry={entry} {...parts} />}
      {!isGone && <Metadata of={entry.metadata} find={parts.find} />}
      <EntryLink opened={opened} entryHref={parts.entryHref} />
      <ReceiptPart entry={entry} {...parts} />
      {!isGone && <Provenance of={entry} find={parts.find} />}
      {related(entry, parts.desk, parts.entryHref)}
      <Canonical of={entry} />
    </>
  )
}

interface ReceiptProps extends DrawerParts {
  readonly entry: ListedEntry
}

function ReceiptPart({ entry, desk, mark, isMarked }: ReceiptProps) {
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
        {goneText(entry) === undefined && (
          <button type="button" id="entry-mark" class="button" onClick={() => mark(entry)}>
            {markText(isMarked(entry))}
          </button>
        )}
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

interface ProvenanceProps {
  readonly of: ListedEntry
  readonly find: (term: string) => void
}

/** Those that a search can name. */
const provenanceFields: Readonly<Record<string, string>> = { traceId: "trace", keyId: "key" }

function Provenance({ of, find }: ProvenanceProps) {
  const { provenance = {}, id, policyVersion, userVisible } = of
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
                <Terms term={provenanceTerm(name, value)} find={find} />
              </dd>
            </>
          ))}
      </dl>
    </details>
  )
}

function provenanceTerm(name: string, value: unknown): string | undefined {
  const field = provenanceFields[name]
  return field === undefined ? undefined : termText(field, String(value))
}

function Canonical({ of: { proof } }: { readonly of: ListedEntry }) {
  if (proof === undefined || proof.body === null) return <></>
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
