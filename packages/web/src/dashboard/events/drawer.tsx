// One entry beside the list: what happened, how far it is proven, and everything that was recorded.

import type { CreatedReceiptToken, ListedEntry } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { Button, IconButton } from "../../parts/button.tsx"
import { Copy } from "../../parts/copy.tsx"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { Icon, crossIcon, heldIcon, leftIcon, rightIcon } from "../../parts/icon.tsx"
import { Refused, Skeleton } from "../../parts/refused.tsx"
import { Text } from "../../parts/text.tsx"
import { root } from "../../place.ts"
import type { Desk } from "../desk.ts"
import { openLinkDialog } from "../link-dialog.tsx"
import { termText } from "./asked.ts"
import { EntryLink } from "./entry-link.tsx"
import type { OpenedEntry } from "./explorer-entry.ts"
import { Sentence } from "./entry-sentence.tsx"
import { Failure, Trail } from "./entry-trail.tsx"
import { goneSentence, goneText, heldText } from "./gone-content.ts"
import { Metadata } from "./metadata.tsx"
import { Particulars } from "./particulars.tsx"
import { related } from "./related.tsx"
import { Terms } from "./term-buttons.tsx"

interface DrawerParts {
  readonly desk: Desk
  readonly find: (term: string) => void
  readonly step: (by: -1 | 1) => void
  readonly close: () => void
  readonly entryHref: (sequence: number) => string
  readonly mark: (entry: ListedEntry) => void
  readonly isMarked: (entry: ListedEntry) => boolean
}

export type Drawer = ReturnType<typeof createDrawer>

export function createDrawer(parts: DrawerParts) {
  const node = elementOf(<aside class="drawer" aria-label="Entry" tabIndex={-1} />)
  const frame = (title: Child, entry: ListedEntry | undefined, ...content: readonly Node[]): void =>
    redraw(node, <Head title={title} entry={entry} {...parts} />, ...content)
  return {
    node,
    show: (opened: OpenedEntry) =>
      frame(
        goneText(opened.entry) ?? <Text of={opened.entry.action} />,
        opened.entry,
        <Whole opened={opened} {...parts} />,
      ),
    refused: (refusal: Refusal, retry: () => void) =>
      frame("Entry", undefined, <Refused refusal={refusal} retry={retry} isPart />),
    /** The entry does not exist, or this reader may not see it. */
    missing: (name: string) =>
      frame(
        "No such entry",
        undefined,
        <p class="soft">
          There is no entry <Text of={name} /> in this workspace, or it is not for you to see.
        </p>,
      ),
    marked(isMarked: boolean): void {
      const button = document.getElementById("entry-mark")
      if (button === null) return
      button.textContent = markText(isMarked)
      button.scrollIntoView({ block: "nearest" })
    },
    waiting(): void {
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
      <IconButton id="entry-above" icon={leftIcon} label="Newer entry" onClick={() => step(-1)} />
      <IconButton id="entry-below" icon={rightIcon} label="Older entry" onClick={() => step(1)} />
      {entry !== undefined && <Copy text={entryHref(entry.sequence)} label="Copy link" />}
      <IconButton id="entry-close" icon={crossIcon} label="Close" onClick={close} />
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
        <Text of={receipt} in="code" />
      </p>
      <p class="actions receipt-actions">
        <a class="button" href={page}>
          Open receipt page
        </a>
        <Button onClick={() => openLink(desk, receipt)}>Share it…</Button>
        {goneText(entry) === undefined && (
          <Button id="entry-mark" onClick={() => mark(entry)}>
            {markText(isMarked(entry))}
          </Button>
        )}
      </p>
    </>
  )
}

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
    <Fold
      id="provenance"
      title="Provenance"
      beside={[provenance.environment, provenance.keyId && `key ${provenance.keyId}`]
        .filter((text) => text !== undefined)
        .map((text) => (
          <Text of={String(text)} />
        ))}
    >
      <dl class="particulars">
        {rows
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <>
              <Text of={name} in="dt" />
              <dd>
                <Text of={String(value)} in="code" />
                <Terms term={provenanceTerm(name, value)} find={find} />
              </dd>
            </>
          ))}
      </dl>
    </Fold>
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
    <Fold
      id="canonical"
      title="Canonical bytes"
      beside={<>{number(bytes)} B, hashed exactly as shown</>}
    >
      <pre class="code" tabIndex={0} aria-label="Canonical bytes">
        <Text of={proof.body} />
      </pre>
      <p class="actions">
        <Copy text={proof.body} label="Copy bytes" isWide />
        <Copy text={proof.record} label="Copy record" isWide />
      </p>
    </Fold>
  )
}
