// One file of evidence on the page: its progress, then what was found.

import { printable, type Finding } from "@tallystick/proof"
import { elementOf, redraw, focusTitle } from "../elements/elements.ts"
import { Button } from "../parts/button.tsx"
import { Icon, fileIcon } from "../parts/icon.tsx"
import { announce } from "../parts/page.tsx"
import { sizeText } from "../parts/counted.ts"
import { Text, Unseen } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import { save, saveIcon } from "../save.ts"
import { trustedVkeys } from "../trusted-keys.ts"
import { check } from "./check.ts"
import type { Done, Evidence } from "./evidence.ts"
import { PackedEntries } from "./packed-entries.tsx"
import { Findings, titleOfAll } from "./finding-view.tsx"

/** Of the built package. */
declare const VERSION: string

export interface Job {
  readonly place: HTMLElement
  /** Checks again if another key could change the verdict: not if the file is refuted. */
  recheck(): void
}

export function startJob(evidence: Evidence, removed: (job: Job) => void): Job {
  const name = printable(evidence.name)
  const place = elementOf(<section class="result" aria-label={name} />)
  let running: { cancel(): void } | undefined
  let findings: readonly Finding[] | undefined
  const remove = (): void => {
    running?.cancel()
    place.remove()
    removed(job)
    announce(`${name} was removed`)
  }
  const show = ({ findings: found, packed, recorded }: Done): void => {
    const hadFocus = place.contains(document.activeElement)
    findings = found
    redraw(
      place,
      <FileName of={evidence} remove={remove} label="Remove" />,
      <Findings findings={found} recorded={recorded} />,
      <PackedEntries of={packed} />,
      <Result of={found} name={evidence.name} at={new Date().toISOString()} />,
    )
    if (hadFocus) focusTitle(place)
    announce(`${name}: ${titleOfAll(found)}`)
  }
  const start = (): void => {
    running?.cancel()
    const bar = createProgress(evidence)
    // The earlier result stays while the file is checked again.
    if (findings === undefined)
      redraw(place, <FileName of={evidence} remove={remove} label="Cancel" />, bar.place)
    running = check(evidence, trustedVkeys(), (report) => {
      if (report.is === "reading") bar.read(report.done)
      else if (report.is === "checking") bar.hashed(report.hashed)
      else show(report)
    })
  }
  const job: Job = {
    place,
    recheck() {
      const isFinal = findings?.some(({ verdict }) => ["refuted", "unreadable"].includes(verdict))
      if (isFinal !== true) start()
    },
  }
  start()
  return job
}

interface FileNameProps {
  readonly of: Evidence
  readonly remove: () => void
  readonly label: string
}

function FileName({ of: { name, bytes }, remove, label }: FileNameProps) {
  return (
    <div class="file-name">
      <Icon of={fileIcon} />
      <Text of={name} in="b" />
      <span class="quiet">{sizeText(bytes)}</span>
      <Button kind="plain" onClick={remove}>
        {label}
        <Unseen of={name} />
      </Button>
    </div>
  )
}

/** First the bytes that were read, then those that were hashed, which are about twice as many. */
function createProgress({ bytes }: Evidence) {
  const text = elementOf(<span>Reading</span>)
  const bar = document.createElement("progress")
  bar.setAttribute("aria-label", "Progress")
  bar.max = 1
  return {
    place: (
      <div class="progress small soft">
        {bar} {text}
      </div>
    ),
    read(done: number): void {
      bar.value = (0.3 * done) / Math.max(bytes, 1)
      text.textContent = `Reading, ${sizeText(done)} of ${sizeText(bytes)}`
    },
    hashed(hashed: number): void {
      bar.value = Math.min(0.98, 0.3 + (0.35 * hashed) / Math.max(bytes, 1))
      text.textContent = `Checking, ${sizeText(hashed)} hashed`
    },
  }
}

interface ResultProps {
  readonly of: readonly Finding[]
  readonly name: string
  readonly at: string
}

/** The findings as a file, in the form of `tallystick verify --json`. */
function Result({ of: findings, name, at }: ResultProps) {
  const named = findings.map(({ item, ...finding }) => ({
    file: item === undefined ? name : `${name} ${item}`,
    ...finding,
  }))
  const json = `${JSON.stringify(named, null, 2)}\n`
  const fileName = `${name.replace(/\/$/, "")}.result.json`
  return (
    <div class="result-end small quiet">
      <button
        type="button"
        class="button not-printed"
        onClick={() => save(fileName, json, "application/json")}
      >
        <Icon of={saveIcon} /> Result as JSON
      </button>
      <span>
        Checked <Time at={at} /> by verifier {VERSION}
      </span>
    </div>
  )
}
