// A receipt: the verdict first, then what was recorded, then each check.

import { focusTitle, type Child } from "../elements/elements.ts"
import { Button } from "../parts/button.tsx"
import { Checks, type CheckRow } from "../parts/checks.tsx"
import { Copy } from "../parts/copy.tsx"
import { number, numbered, sizeText } from "../parts/counted.ts"
import { Facts } from "../parts/facts.tsx"
import { Fold } from "../parts/fold.tsx"
import { Hash } from "../parts/hash.tsx"
import { Icon, waitingIcon } from "../parts/icon.tsx"
import { KeyPanel } from "../parts/key-panel.tsx"
import { laneOf } from "../parts/lane.tsx"
import { furtherRows, WhatWasRecorded } from "../parts/recorded.tsx"
import { Text, Value } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import { Verdict, type Tone } from "../parts/verdict.tsx"
import { publicKeyOf } from "../public-key.ts"
import { save, saveIcon } from "../save.ts"
import { distrust, trust } from "../trusted-keys.ts"
import { failureSentence, keyIdOf, type Outcome, type ReceiptReading } from "./read-receipt.ts"
import { SplitStick } from "./split-stick.tsx"

interface ReceiptProps {
  readonly reading: ReceiptReading
  /** The answer as it was sent. */
  readonly text: string
  readonly receiptId: string
  /** The address of this page, without its token. */
  readonly address: string
  readonly apiAddress: string
  readonly verifierAddress: string
  readonly checkedAt: string
}

export function ReceiptView(props: ReceiptProps) {
  const { reading, receiptId, checkedAt } = props
  const { outcome, hash, namedHash, content } = reading
  const isBroken = outcome === "broken"
  // Claims are based only on computed values.
  const isShown =
    ["genuine", "unconfirmed"].includes(outcome) && reading.verdict.content !== undefined
  return (
    <div class="receipt">
      <section class="top">
        <ReceiptVerdict reading={reading} />
        {hash !== undefined && (
          <figure>
            <SplitStick
              computed={hash}
              named={isBroken ? turned(namedHash ?? hash, hash) : (namedHash ?? hash)}
              lane={laneOf(content.lane)}
              label={numbered(reading.sequence)}
              state={isBroken ? "broken" : reading.size === undefined ? "pending" : "sealed"}
            />
            <figcaption>
              <span>
                <b>The ledger's half</b>
                {ledgersHalf(reading)}
              </span>
              <span>
                <b>Your half</b>
                this receipt, read in this browser
              </span>
            </figcaption>
          </figure>
        )}
      </section>
      <Recorded reading={reading} />
      <section aria-labelledby="checks">
        <h2 id="checks">
          Checks <span class="quiet">all made here, in your browser</span>
        </h2>
        <ReceiptChecks reading={reading} />
        <Printed {...props} />
        <Actions {...props} />
        <More {...props} />
      </section>
      {isShown && <Meaning />}
      <footer>
        <p>
          Checked <Time at={checkedAt} /> in this browser
        </p>
        <p>
          <Text of={receiptId} in="code" /> <Copy text={receiptId} label="Copy receipt id" />
        </p>
      </footer>
    </div>
  )
}

export const receiptTitles: Readonly<Record<Outcome, string>> = {
  genuine: "This receipt is genuine",
  unconfirmed: "Consistent, key not confirmed",
  pending: "Recorded, not yet sealed",
  unsealed: "Recorded, not sealed",
  gone: "The record is genuine, its content is gone",
  unproven: "This cannot be checked",
  broken: "Not genuine",
}
const tones: Readonly<Record<Outcome, Tone>> = {
  genuine: "intact",
  unconfirmed: "attention",
  pending: "neutral",
  unsealed: "attention",
  gone: "intact",
  unproven: "neutral",
  broken: "broken",
}

function ReceiptVerdict({ reading }: { readonly reading: ReceiptReading }) {
  const { outcome, verdict, sequence, recordedAt } = reading
  const recorded = (
    <>
      <b>Entry {numbered(sequence)}</b> was recorded on{" "}
      <b>{recordedAt !== undefined && <Time at={recordedAt} />}</b>
    </>
  )
  return (
    <Verdict
      tone={tones[outcome]}
      title={receiptTitles[outcome]}
      icon={outcome === "pending" ? waitingIcon : undefined}
    >
      <p>
        {verdictSentence(
          outcome,
          recorded,
          verdict.verdict === "refuted" ? failureSentence(verdict) : "",
        )}
      </p>
    </Verdict>
  )
}

function verdictSentence(outcome: Outcome, recorded: Child, failure: string): Child {
  switch (outcome) {
    case "genuine":
      return <>{recorded} and has not been changed since.</>
    case "unconfirmed":
      return (
        <>
          {recorded}. Everything agrees. The signing key came from this same server, so compare it
          once with one that you trust.
        </>
      )
    case "pending":
      return (
        <>
          {recorded}. A signed checkpoint will cover it in a moment; this page looks again for a
          while.
        </>
      )
    case "unsealed":
      return (
        <>
          {recorded}. No signed checkpoint covers it: signing is stuck, or the ledger has new keys
          by now, whose checkpoints alone prove this entry. Ask whoever runs it.
        </>
      )
    case "gone":
      return (
        <>{recorded}. Its content is gone, as after its retention. That it stood there is proven.</>
      )
    case "unproven":
      return "The answer has no proof to compute from."
    case "broken":
      return (
        <>
          <Text of={failure} /> Keep this receipt, and ask whoever runs the ledger.
        </>
      )
  }
}

function ledgersHalf({ size, vkey, outcome }: ReceiptReading): string {
  if (size === undefined)
    return outcome === "broken" ? "not reached" : "no signed checkpoint covers it"
  const key = vkey === undefined ? "" : `, key ${keyIdOf(vkey)}`
  return `sealed by the checkpoint over ${number(size)} entries${key}`
}

/** Two halves that do not match are never drawn alike. */
function turned(named: string, computed: string): string {
  return named === computed ? [...named].toReversed().join("") : named
}

function Recorded({ reading: { content, outcome, recordedAt } }: Pick<ReceiptProps, "reading">) {
  const isProven = outcome !== "broken" && outcome !== "unproven"
  return (
    <section aria-labelledby="what">
      <h2 id="what">{isProven ? "What was recorded" : "What this receipt claims"}</h2>
      {content.action === undefined && <p class="soft">The content is not in the answer.</p>}
      <WhatWasRecorded of={content} recordedAt={recordedAt} />
    </section>
  )
}

// Checks, and what can be done --------------------------------------------------------------------

function ReceiptChecks({ reading }: { readonly reading: ReceiptReading }) {
  const { checks, vkey, trusted } = reading
  const trustKey = (key: string): void => {
    trust(key)
    // The page is drawn again by now.
    focusTitle(document)
  }
  const panel =
    vkey === undefined || trusted !== undefined ? undefined : (
      <div id="key-panel" hidden>
        <KeyPanel vkey={vkey} trust={() => trustKey(vkey)} />
      </div>
    )
  const beside = (row: CheckRow): Child => {
    if (row.name !== "Key" || vkey === undefined) return undefined
    if (row.state === "attention")
      return (
        <button type="button" id="pin" class="plain" aria-expanded={false} onClick={turnPanel}>
          how to pin
        </button>
      )
    return trusted === undefined ? undefined : (
      <Button kind="plain" id="pin" onClick={() => distrust(trusted.vkey)}>
        unpin
      </Button>
    )
  }
  return (
    <>
      <Checks rows={checks} beside={beside} />
      {panel}
    </>
  )
}

function turnPanel({ currentTarget }: Event): void {
  const panel = document.getElementById("key-panel")
  if (panel === null || !(currentTarget instanceof Element)) return
  panel.hidden = !panel.hidden
  currentTarget.setAttribute("aria-expanded", String(!panel.hidden))
}

function Actions({ text, receiptId, apiAddress, verifierAddress }: ReceiptProps) {
  return (
    <div class="actions">
      <Button kind="main" onClick={() => save(`${receiptId}.json`, text, "application/json")}>
        <Icon of={saveIcon} /> Receipt and proof
      </Button>
      <a class="button" href={verifierAddress} download="verify.html">
        <Icon of={saveIcon} /> Offline verifier
      </a>
      <Copy isWide text={`curl -sS '${apiAddress}'`} label="Copy as curl" />
    </div>
  )
}

function More({ reading, text }: ReceiptProps) {
  const { content, stated, steps } = reading
  return (
    <div class="more">
      <Fold id="all" title="All that was recorded">
        <Facts rows={furtherRows(content)} />
      </Fold>
      {steps.length > 0 && (
        <Fold
          id="steps"
          title={<>The {steps.length === 1 ? "step" : `${steps.length} steps`}</>}
          beside="from the entry to the signed root"
        >
          <ol class="steps">
            {steps.map((step) => (
              <li>
                <Hash of={step} />
              </li>
            ))}
          </ol>
        </Fold>
      )}
      {stated.length > 0 && (
        <Fold
          id="stated"
          title="Stated by the server"
          beside="covered by no hash, so it proves nothing"
        >
          <Facts rows={stated.map(([path, value]) => [path, <Value of={value} />] as const)} />
        </Fold>
      )}
      <Fold id="raw" title="Raw receipt" beside={sizeText(new Blob([text]).size)}>
        <pre class="code" tabIndex={0} aria-label="Raw receipt">
          <Text of={text} />
        </pre>
      </Fold>
    </div>
  )
}

/** Printed pages have no buttons, so they show the full hashes and the address. */
function Printed({ reading: { hash, previousHash, vkey }, address }: ReceiptProps) {
  return (
    <div class="printed-only paper-facts">
      <Facts
        rows={[
          ["Hash", hash && <Hash of={hash} />],
          ["Previous", previousHash && <Hash of={previousHash} />],
          ["Public key", vkey && <Hash of={publicKeyOf(vkey)} />],
          ["Check again at", <code>{address}</code>],
        ]}
      />
    </div>
  )
}

function Meaning() {
  return (
    <section class="two" aria-label="What this proves">
      <div>
        <h2>What this shows</h2>
        <p>
          The entry stood in this ledger at that time, in that place, with exactly this content.
          Nobody has changed or moved it since without it being seen here.
        </p>
      </div>
      <div>
        <h2>What it does not show</h2>
        <p>
          That the event took place as the application reported it, or that no event went
          unreported. A ledger proves what it was told.
        </p>
      </div>
    </section>
  )
}
