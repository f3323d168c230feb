import type { ChainState, ListedEntry, Party } from "@tallystick/client/wire"
import {
  Icon,
  archivedIcon,
  attentionIcon,
  checkIcon,
  crossIcon,
  erasedIcon,
  heldIcon,
  pendingIcon,
  plusIcon,
  waitingIcon,
} from "../../parts/icon.tsx"
import { clockApart } from "../../parts/clock-apart.ts"
import { number, numbered } from "../../parts/counted.ts"
import { LaneLetter, Notch, notchState } from "../../parts/lane.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { goneText, heldText, timeOf } from "./gone-content.ts"
import type { Row } from "./rows.ts"

type Checkpoint = NonNullable<ChainState["checkpoint"]>

interface EntryLineProps {
  readonly row: Row
  /** From 1. */
  readonly place: number
  readonly isShifted: boolean
  readonly isOpen: boolean
  readonly isMarked: boolean
  readonly href: string
}

export function EntryLine({ row, place, isShifted, isOpen, isMarked, href }: EntryLineProps) {
  const { entry, sequence } = row
  const isGone = entry !== undefined && goneText(entry) !== undefined
  const names = [
    isShifted && "shifted",
    isOpen && "open",
    isMarked && "marked",
    isGone && "gone",
    row.state,
  ]
  return (
    <tr
      class={names.filter((name) => name !== false).join(" ")}
      aria-rowindex={place + 1}
      data-sequence={sequence}
    >
      {entry === undefined ? <Far /> : <Cells {...{ row, entry, isOpen, isMarked, href }} />}
    </tr>
  )
}

function Far() {
  return (
    <td class="when wood" colspan={7}>
      <span class="bones short late" />
    </td>
  )
}

interface CellsProps extends Omit<EntryLineProps, "place" | "isShifted"> {
  readonly entry: ListedEntry
}

function Cells({ row, entry, isOpen, isMarked, href }: CellsProps) {
  const { actor, target, action, lane, sequence } = entry
  const at = timeOf(entry)
  const gone = goneText(entry)
  return (
    <>
      <td class="when wood">
        <Notch lane={lane} state={notchOf(row, entry)} />
        <a href={href} aria-current={isOpen ? "true" : undefined}>
          <Time at={at} form="second" />
          <span class="ms">.{String(new Date(at).getMilliseconds()).padStart(3, "0")}</span>
        </a>{" "}
        <ClockApart of={entry} />
      </td>
      <td class="who cut">
        <Name of={actor} />
      </td>
      <td class="act">
        {gone === undefined ? <Text of={action} /> : <span class="quiet">{gone}</span>}{" "}
        {entry.held === true && (
          <span class="quiet" title={heldText}>
            <Icon of={heldIcon} />
            <span class="unseen">{heldText}</span>
          </span>
        )}
      </td>
      <td class="tgt cut">
        <Name of={target} />
      </td>
      <td class="lane">{gone === undefined && <LaneLetter of={lane} />}</td>
      <td class="seq">
        {isMarked && (
          <span class="marked-sign" title="Marked for a pack">
            <Icon of={plusIcon} />
            <span class="unseen">marked for a pack, </span>
          </span>
        )}
        {number(sequence)}
      </td>
      <td class="chk">
        <StateMark row={row} entry={entry} />
      </td>
    </>
  )
}

export function Name({ of: { id, name, email } }: { readonly of: Party }) {
  return <Text of={nameOf({ id, name, email })} />
}

/** A name that is no text is not shown as a name. */
function nameOf({ id, name, email }: Readonly<Record<"id" | "name" | "email", unknown>>): string {
  const found = [name, email, id].find((text) => typeof text === "string" && text !== "")
  return typeof found === "string" ? found : ""
}

function ClockApart({ of: entry }: { readonly of: ListedEntry }) {
  const apart = clockApart(entry)
  if (apart === undefined) return <></>
  return (
    <span class={entry.clockAhead ? "attention" : "quiet"} title={apart}>
      <Icon of={waitingIcon} />
      <span class="unseen">, {apart}</span>
    </span>
  )
}

function notchOf({ state }: Row, { integrity }: ListedEntry): ReturnType<typeof notchState> {
  return state === "broken" || state === "pending" ? state : notchState(integrity)
}

const marks = {
  broken: ["broken", crossIcon, "Broken"],
  expired: ["quiet", erasedIcon, "Expired: the content was destroyed, the hash holds"],
  erased: ["quiet", erasedIcon, "Erased: personal data destroyed, the hash holds"],
  pending: ["quiet", pendingIcon, "Recorded, not yet sealed"],
  unproven: ["attention", attentionIcon, "Not checked in this browser"],
  archived: ["quiet", archivedIcon, "Archived, recomputed on this page"],
  sealed: ["quiet", checkIcon, "Recomputed on this page"],
} as const

function StateMark({ row: { state }, entry }: { readonly row: Row; readonly entry: ListedEntry }) {
  if (state === "unchecked" && entry.integrity !== "broken") return <></>
  const [tone, icon, says] = marks[markOf(state, entry)]
  return (
    <span class={tone} title={says}>
      <Icon of={icon} />
      <span class="unseen">{says}</span>
    </span>
  )
}

function markOf(state: Row["state"], { integrity, storageTier }: ListedEntry): keyof typeof marks {
  if (state === "broken" || integrity === "broken") return "broken"
  if (integrity === "erased") return "erased"
  if (integrity === "expired") return "expired"
  if (state === "pending" || state === "unproven") return state
  return storageTier === "archive" ? "archived" : "sealed"
}

interface DayLineProps {
  readonly day: string
  readonly beside?: Node | undefined
}

export function DayLine({ day, beside }: DayLineProps) {
  return (
    <tr class="rule day">
      <td class="wood" colspan={7}>
        <span class="day-row">
          {day}
          {beside}
        </span>
      </td>
    </tr>
  )
}

export function CheckpointLine({ of }: { readonly of: Checkpoint }) {
  const [, key = ""] = of.vkey.split("+")
  return (
    <tr class="rule checkpoint">
      <td class="wood" colspan={7}>
        <span class="band" />
        Sealed up to here · checkpoint #{number(of.sequence)} signed{" "}
        <Time at={of.signedAt} form="second" /> by key <code>{key}</code>
      </td>
    </tr>
  )
}

export function BreakLine({ above, below }: { readonly above: Row; readonly below: Row }) {
  return (
    <tr class="rule break">
      <td class="wood" colspan={7}>
        <svg class="crack" viewBox="0 0 26 44" aria-hidden="true">
          <path class="gap" d="M-2 13 6 18l4-8 5 9 4-6 9 4v13l-7 5-5-9-5 7-4-8-9 5z" />
          <path class="lip" d="M0 14l6 4 4-8 5 9 4-6 4 2M0 29l7-4 4 8 5-7 5 9 5-4" />
        </svg>
        <span class="state broken">
          <Icon of={crossIcon} />
          <b>Link broken.</b>
        </span>{" "}
        {numbered(above.sequence)} says the entry before it is{" "}
        <code>{above.entry?.previousHash.slice(-4)}</code>; {numbered(below.sequence)} hashes to{" "}
        <code>{below.entry?.hash.slice(-4)}</code>
      </td>
    </tr>
  )
}
