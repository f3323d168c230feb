import assert from "node:assert/strict"
import { startProgram } from "../crash/programs.ts"
import type { Fault } from "../crash/faults.ts"
import { makeWorkspace, type Service, type Workspace } from "../service.ts"
import { audit, type Audited } from "./audit.ts"
import type { Chance } from "../chance.ts"
import { eventWrite, note, sendUntilKnown, type Sending, type Write } from "./writes.ts"

// Many concurrent writers, most of them on one workspace. With any answer of the storage, every
// chain is one line without a gap.

export interface WritersOptions {
  readonly events: number
  readonly writers: number
  /** In addition to the busiest one. */
  readonly workspaces: number
  readonly batchMax: number
  readonly lookUpsMax: number
  readonly chance: Chance
  readonly fault?: Fault
}

export interface Written extends Audited {
  readonly written: number
  readonly singles: number
  readonly batches: number
  /** Requests whose outcome the service did not know; they were sent again. */
  readonly unknown: number
  /** Writes of these requests that turned out to be recorded. */
  readonly recordedUnknown: number
}

export async function writeTogether(options: WritersOptions): Promise<Written> {
  const { events, writers, lookUpsMax, chance, fault } = options
  await using service = await startProgram({}, fault)
  const workspaces = await Promise.all(
    Array.from({ length: 1 + options.workspaces }, () => makeWorkspace(service)),
  )
  const seen = { singles: 0, batches: 0, unknown: 0, recordedUnknown: 0 }
  const written: Write[] = []
  const write = async (): Promise<void> => {
    while (written.length < events) {
      const { workspace, sending } = nextSending(workspaces, written.length, options)
      written.push(...sending)
      if (sending.length === 1) seen.singles += 1
      else seen.batches += 1
      await record(service, workspace, sending, seen)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  const audited = await audit(service, {
    workspaces,
    writes: written,
    lookUpsMax,
    replaysMax: lookUpsMax,
    chance,
  })
  return { ...audited, ...seen, written: written.length }
}

function nextSending(
  workspaces: readonly Workspace[],
  count: number,
  { batchMax, chance }: WritersOptions,
): { readonly workspace: Workspace; readonly sending: Sending } {
  const workspace = chance.percent(80)
    ? (workspaces[0] ?? chance.pick(workspaces))
    : chance.pick(workspaces)
  const size = chance.percent(80) ? 1 : 2 + chance.below(batchMax - 1)
  const events = Array.from({ length: size }, (_, place) =>
    eventWrite(workspace.id, `write-${count + place + 1}-of-many`, chance),
  )
  return { workspace, sending: events as unknown as Sending } // one, or more
}

async function record(
  service: Service,
  { writer }: Workspace,
  sending: Sending,
  seen: { unknown: number; recordedUnknown: number },
): Promise<void> {
  const { reply, unknown } = await sendUntilKnown(service.client(writer.bearer), sending)
  seen.unknown += unknown
  // A chain that the service has found forked takes no writes; its present entries are checked.
  if (reply.status === 503 && reply.json().error === "integrity_failure") return
  const { replayed } = note(sending, reply)
  assert.ok(unknown > 0 || replayed === 0, "a new key is new")
  seen.recordedUnknown += replayed
}
