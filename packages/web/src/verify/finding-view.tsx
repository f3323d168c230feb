import type { CheckName, Finding, PackCheckName } from "@tallystick/proof"
import type { Child } from "../elements/elements.ts"
import { Checks, type CheckRow, type CheckState } from "../parts/checks.tsx"
import { counted, number, numbered } from "../parts/counted.ts"
import { Facts } from "../parts/facts.tsx"
import { Fold } from "../parts/fold.tsx"
import { Hash } from "../parts/hash.tsx"
import { KeyPanel } from "../parts/key-panel.tsx"
import type { RecordedContent } from "../parts/recorded-content.ts"
import { furtherRows, WhatWasRecorded } from "../parts/recorded.tsx"
import { Text } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import { Verdict, type Tone } from "../parts/verdict.tsx"
import { trust } from "../trusted-keys.ts"

type Unsure = NonNullable<Finding["because"]>
type Outcome = Exclude<Finding["verdict"], "unconfirmed"> | Unsure

/** The worst first. Only computed results are called consistent. */
const outcomes = {
  refuted: ["Not genuine", "broken"],
  unreadable: ["Not readable", "neutral"],
  proof_missing: ["Cannot be checked", "neutral"],
  key_missing: ["Cannot be checked", "neutral"],
  not_sealed: ["Not yet sealed", "neutral"],
  key_not_trusted: ["Consistent, not confirmed", "attention"],
  content_missing: ["Its content is gone", "intact"],
  genuine: ["Genuine", "intact"],
} as const satisfies Readonly<Record<Outcome, readonly [title: string, tone: Tone]>>

function outcomeOf({ verdict, because }: Finding): Outcome {
  return verdict === "unconfirmed" ? (because ?? "proof_missing") : verdict
}

function worstOf(findings: readonly Finding[]): Outcome {
  const found = new Set(findings.map(outcomeOf))
  // They are the keys of the table.
  return (Object.keys(outcomes) as Outcome[]).find((one) => found.has(one)) ?? "unreadable"
}

export function titleOfAll(findings: readonly Finding[]): string {
  return outcomes[worstOf(findings)][0]
}

interface FindingsProps {
  readonly findings: readonly Finding[]
  readonly recorded: RecordedContent | undefined
}

export function Findings({ findings, recorded }: FindingsProps) {
  const [only] = findings
  return only !== undefined && findings.length === 1 ? (
    <OneFinding of={only} recorded={recorded} />
  ) : (
    <ManyFindings of={findings} />
  )
}

interface FindingProps {
  readonly of: Finding
  readonly recorded: RecordedContent | undefined
}

function OneFinding({ of: finding, recorded }: FindingProps) {
  const { verdict, what, checks, facts, notCovered } = finding
  const { key } = facts
  return (
    <>
      <Verdict tone={outcomes[outcomeOf(finding)][1]} title={titleOf(finding)} isPart>
        <p>{sentenceOf(finding)}</p>
      </Verdict>
      {checks.length > 0 && <Checks rows={rowsOf(finding)} />}
      {verdict === "unconfirmed" && typeof key === "string" && (
        <KeyPanel vkey={key} trust={() => trust(key)} />
      )}
      {Object.keys(facts).length > 0 && (
        <div class="facts-of">
          <h3>{`What the ${what} ${verdict === "genuine" ? "says" : "claims"}`}</h3>
          {recorded && <WhatWasRecorded of={recorded} recordedAt={textOf(facts["recorded"])} />}
          <Facts
            rows={[...(recorded ? furtherRows(recorded) : []), ...factRows(facts, recorded)]}
          />
        </div>
      )}
      {notCovered.length > 0 && (
        <Fold
          title="Covered by no hash"
          beside={
            <>
              {notCovered.length === 1
                ? "1 member, which proves"
                : `${notCovered.length} members, which prove`}{" "}
              nothing
            </>
          }
        >
          <Text of={notCovered.join(", ")} in="p" class="small soft" />
        </Fold>
      )}
    </>
  )
}

function titleOf(finding: Finding): string {
  const { verdict, what } = finding
  if (what !== "nothing" && verdict === "refuted") return `This ${what} is not genuine`
  return verdict === "genuine" ? `This ${what} is genuine` : outcomes[outcomeOf(finding)][0]
}

function sentenceOf({ verdict, what, reason = "", difference, facts }: Finding): Child {
  if (verdict === "genuine") return scopeOf(what, facts)
  // The expected and the found value are shown next to the check.
  if (difference !== undefined) return <Text of={faultOf(difference)} />
  return <Text of={`${capital(reason)}.`} />
}

/** Never "genuine" without naming what is genuine. */
function scopeOf(what: Finding["what"], { entries }: Finding["facts"]): string {
  const all =
    typeof entries === "number" ? `all ${counted(entries, "entry", "entries")}` : "all entries"
  switch (what) {
    case "pack":
      return `Manifest, seal and ${all} were recomputed here: nothing was added, left out or changed since.`
    case "export":
      return `The export was recomputed here, ${all}: each is linked to the one before it, up to the signed checkpoint.`
    case "list":
      return `${capital(all)} stood in the ledger at their times and places, and are unchanged since. All of them were recomputed here. No file shows that nobody has left an entry out.`
    case "receipt":
    case "entry":
    case "proof":
    case "page":
    case "nothing":
      return "It stood in the ledger at its time and place, and is unchanged since. All of it was recomputed here."
  }
}

function rowsOf({ checks, difference }: Finding): readonly CheckRow[] {
  return checks.map(({ name, ok }) => {
    const state: CheckState = ok === null ? "attention" : ok ? "intact" : "broken"
    const here = state === "broken" ? difference : undefined
    return {
      name: capital(name),
      state,
      says: here === undefined ? saysOf(name, state) : faultOf(here),
      ...(here?.expected !== undefined && { expected: here.expected }),
      ...(here?.found !== undefined && { found: here.found }),
    }
  })
}

function saysOf(name: string, state: CheckState): string {
  if (state === "attention" && name === "key") return "No key that you trust signed it."
  return meanings[name] ?? ""
}

function faultOf({ check, in: place, sequence }: NonNullable<Finding["difference"]>): string {
  if (check === "archive")
    return "It is not the archive of a pack: it was changed, cut short, or packed again."
  const entry = sequence === undefined ? "" : `, entry ${numbered(sequence)}`
  return `${capital(check)} does not hold${place === undefined ? "" : `, in ${place}`}${entry}.`
}

const meanings: Readonly<Record<CheckName | PackCheckName, string> & Record<string, string>> = {
  archive: "It is one archive, to the last byte.",
  manifest: "Every file has the hash that the manifest says.",
  genesis: "The beginning of the ledger can be read.",
  checkpoint: "A key of the log signed the checkpoint.",
  seal: "An entry of the ledger contains the hash of this manifest.",
  record: "The record has the form of a ledger's record.",
  records: "Each record has its index, and is linked to the one before it.",
  inclusion: "It is in the tree under the signed root.",
  link: "Its previous hash is that of the entry before it.",
  content: "The record commits to its content.",
  canonical: "The content is canonical, so all parsers read it alike.",
  disclosures: "Each disclosed field matches a digest in the content.",
  receipt: "What is shown is what was hashed.",
  receipts: "The receipts match the records and contents.",
  table: "The table matches the records and contents.",
  policies: "Each policy has the hash that it states.",
  end: "The last line has the number and the hash of all others.",
  epochs: "Each ledger continues the one before it.",
  kept: "It is among the entries that were kept.",
  tiles: "The tiles match the records.",
  root: "The records are those that the checkpoint covers.",
  integrity: "Its own verdict matches what was found.",
  key: "A key that you trust signed it.",
}

const factNames: Readonly<Record<string, string>> = {
  eventHash: "Hash",
  packHash: "Hash of manifest",
  packId: "Pack",
  size: "Entries signed for",
  sequence: "Entry",
  index: "Place in the log",
  expiredBodies: "Contents expired, as recorded",
  erasedBodies: "Contents erased, as recorded",
  missingBodies: "Contents missing",
  erasedFields: "Fields erased, as recorded",
  withheld: "Fields withheld",
  newKey: "Announces the key",
}

/** Omits what the content shows already. */
function factRows(facts: Finding["facts"], recorded: RecordedContent | undefined) {
  const twice = [
    ...(recorded === undefined ? [] : ["action", "withheld"]),
    ...("sequence" in facts ? ["index"] : []),
  ]
  return Object.entries(facts)
    .filter(([name]) => !twice.includes(name))
    .map(([name, value]) => factRow(name, value))
}

function textOf(value: string | number | undefined): string | undefined {
  return typeof value === "string" ? value : undefined
}

function factRow(name: string, value: string | number): readonly [string, Child] {
  const label = factNames[name] ?? capital(name)
  if (name === "sequence") return [label, numbered(Number(value))]
  // The tree counts from 0, and people do not.
  if (name === "index") return [label, numbered(Number(value) + 1)]
  if (typeof value === "number") return [label, number(value)]
  if (name === "recorded") return [label, <Time at={value} />]
  return [label, /^[0-9a-f]{64}$/.test(value) ? <Hash of={value} /> : <Text of={value} />]
}

function capital(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

/** A page of entries: the number of intact ones, and each that is not. */
function ManyFindings({ of: findings }: { readonly of: readonly Finding[] }) {
  const worst = worstOf(findings)
  const wrong = findings.filter((one) => outcomeOf(one) === worst && worst !== "genuine")
  const genuine = findings.filter(({ verdict }) => verdict === "genuine").length
  const total = number(findings.length)
  return (
    <>
      <Verdict tone={outcomes[worst][1]} title={outcomes[worst][0]} isPart>
        <p>
          {worst === "genuine"
            ? `All ${total} entries were recomputed here.`
            : `${number(genuine)} of ${total} are genuine.`}
        </p>
      </Verdict>
      <ol class="wrong">
        {wrong.slice(0, shownMax).map((finding) => (
          <li>
            <Text of={finding.item ?? finding.what} in="b" />
            <p class="soft small">{sentenceOf(finding)}</p>
          </li>
        ))}
      </ol>
      {wrong.length > shownMax && (
        <p class="quiet small">{`and ${number(wrong.length - shownMax)} more`}</p>
      )}
    </>
  )
}

/** The rest is in the result as a file. */
const shownMax = 50
