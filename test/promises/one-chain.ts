import assert from "node:assert/strict"
import { startProgram } from "../crash/programs.ts"
import type { Fault } from "../crash/faults.ts"
import { makeWorkspace, type Service, type Workspace } from "../service.ts"
import { audit, type Audited } from "./audit.ts"
import type { Chance } from "./chance.ts"
import { eventWrite, note, send, type Sending, type Write } from "./writes.ts"

// Many writers at once, most of them on one workspace. Whatever the storage answers meanwhile, every chain is one line without a gap.

export interface WritersOptions {
  readonly events: number
  readonly writers: number
  /** Beside the one that most is written to. */
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
  /** Writes of those that turned out to be recorded. */
  readonly recordedUnknown: number
}

export async function writeTogether(options: WritersOptions): Promise<Written> {
  const { events, writers, lookUpsMax, chance, fault } = options
  await using service = await startProgram({}, fault)
  const workspaces = await Promise.all(Array.from({ length: 1 + options.workspaces }, () => makeWorkspace(service)))
  const seen = { singles: 0, batches: 0, unknown: 0, recordedUnknown: 0 }
  const written: Write[] = []
  const write = async (): Promise<void> => {
    while (written.length < events) {
      const { workspace, sending } = nextSending(workspaces, written.length, options)
      written.push(...sending)
      if (sending.length === 1) seen.singles += 1
      else seen.batches += 1
      await sendUntilKnown(service, workspace, sending, seen)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  const audited = await audit(service, { workspaces, writes: written, lookUpsMax, replaysMax: lookUpsMax, chance })
  return { ...audited, ...seen, written: written.length }
}

function nextSending(workspaces: readonly Workspace[], count: number, { batchMax, chance }: WritersOptions): { readonly workspace: Workspace; readonly sending: Sending } {
  const workspace = chance.percent(80) ? (workspaces[0] ?? chance.pick(workspaces)) : chance.pick(workspaces)
  const size = chance.percent(80) ? 1 : 2 + chance.below(batchMax - 1)
  const events = Array.from({ length: size }, (_, place) => eventWrite(workspace.id, `write-${count + place + 1}-of-many`, chance))
  return { workspace, sending: events as unknown as Sending } // one, or more
}

async function sendUntilKnown(service: Service, { writer }: Workspace, sending: Sending, seen: { unknown: number; recordedUnknown: number }): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const reply = await send(service.client(writer.bearer), sending)
    if (reply.status !== 503) {
      const { replayed } = note(sending, reply)
      assert.ok(attempt > 1 || replayed === 0, "a new key is new")
      seen.recordedUnknown += replayed
      return
    }
    // A chain that the service itself has found forked is not written to any more: what is there then is looked at.
    const { error } = reply.json<{ error: string }>()
    if (error === "integrity_failure") return
    assert.equal(error, "ledger_unavailable", reply.text)
    assert.ok(attempt < 100, "the service does not come to know")
    seen.unknown += 1
  }
}
