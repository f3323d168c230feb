import assert from "node:assert/strict"
import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs"
import { join } from "node:path"
import { audit, type Audited } from "../promises/audit.ts"
import type { Chance } from "../chance.ts"
import { eventWrite, note, send, type Write } from "../promises/writes.ts"
import { eventually, makeWorkspace, type Reply, type Service, type Workspace } from "../service.ts"
import type { Disk } from "./disks.ts"
import type { Fault } from "./faults.ts"
import { startProgram } from "./programs.ts"
import { untilReady } from "../until.ts"

// Other programs fill the disk, to the last byte, while the ledger is written to and killed; then
// there is space again.

export interface FilledOptions {
  readonly disk: Disk
  readonly cycles: number
  readonly chance: Chance
  readonly fault?: Fault
}

export interface Filled extends Audited {
  readonly cycles: number
  readonly acknowledged: number
  readonly refused: number
  readonly read: number
  /** On the full disk. */
  readonly starts: number
  readonly slowestResumeMs: number
}

const reserveBytes = 8_000_000
const resumesWithinMs = 5000

export async function fillAgainAndAgain({
  disk,
  cycles,
  chance,
  fault,
}: FilledOptions): Promise<Filled> {
  const environment = { TALLYSTICK_LIMIT_DISK_RESERVE_BYTES: String(reserveBytes) }
  const start = () => startProgram({ data: join(disk.path, "data"), environment }, fault)
  let service = await start()
  await using _last = { [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
  const workspace = await makeWorkspace(service)
  const writes: Write[] = []
  const seen = { refused: 0, read: 0, starts: 0, slowestResumeMs: 0 }
  const write = async (): Promise<Reply> => {
    const one = eventWrite(
      workspace.id,
      `a-write-to-a-small-disk-${writes.length}-${seen.refused}`,
      chance,
    )
    const reply = await send(workspace.writer, [one])
    if (reply.status === 202) {
      note([one], reply)
      writes.push(one)
    }
    return reply
  }
  const ballast = join(disk.path, "ballast")
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (let at = 0; at < 20; at++) assert.equal((await write()).status, 202)
    // First with less than the reserve, then with no space at all.
    const toTheLast = cycle % 2 === 1
    fill(ballast, toTheLast ? 0 : reserveBytes - 500_000)
    const expectFull = async (): Promise<void> => {
      for (let at = 0; at < 20; at++) {
        const reply = await write()
        assert.equal(
          `${reply.status} ${reply.json().error}`,
          "503 storage_full",
          "a full disk is a clean refusal",
        )
        assert.ok(reply.headers.has("retry-after"))
        seen.refused += 1
      }
      assert.equal(
        (await service.client().get("/readyz")).status,
        503,
        "what cannot append is not ready",
      )
      seen.read += await readAll(service, workspace, writes)
    }
    await expectFull()
    const untilLogged = (what: string) =>
      eventually(`the log says that it ${what}`, async () => service.log().includes(what), 20_000)
    if (cycle === 0) await untilLogged("is nearly full")
    if (toTheLast) {
      // A start needs no space either, after a kill and after a stop.
      for (const signal of ["SIGKILL", "SIGTERM"] as const) {
        await service.end(signal)
        service = await start()
        await expectFull()
        seen.starts += 1
      }
    }
    rmSync(ballast)
    const startedMs = performance.now()
    await eventually(
      "writes to resume",
      async () => (await write()).status === 202,
      resumesWithinMs,
    )
    seen.slowestResumeMs = Math.max(seen.slowestResumeMs, Math.round(performance.now() - startedMs))
    await untilReady(service)
    if (cycle === 0) await untilLogged("has space again")
  }
  const audited = await audit(service, { workspaces: [workspace], writes, chance })
  return { ...audited, ...seen, cycles, acknowledged: writes.length }
}

/** Every kind of read, on a disk without space. */
async function readAll(
  service: Service,
  { path, reader }: Workspace,
  writes: readonly Write[],
): Promise<number> {
  const receipts = writes
    .slice(-5)
    .map(({ receipt }) => (JSON.parse(receipt ?? "{}") as { readonly receipt: string }).receipt)
  const asked = [
    path,
    `${path}/events?limit=10`,
    `${path}/tlog/checkpoint`,
    ...receipts.map((receipt) => `${path}/receipts/${receipt}`),
  ]
  for (const one of asked)
    assert.equal((await reader.get(one)).status, 200, `${one} is read when nothing can be written`)
  assert.equal((await service.client().get("/healthz")).status, 200)
  return asked.length
}

/** Writes until so little is free; to the last byte, for zero. */
export function fill(path: string, freeBytes: number): void {
  const file = openSync(path, "w")
  try {
    const block = Buffer.alloc(64 * 1024)
    for (;;) {
      const { bavail, bsize } = statfsSync(path)
      const missing = bavail * bsize - freeBytes
      if (missing <= 0) return
      writeSync(file, block, 0, Math.min(block.length, missing))
    }
  } catch (error) {
    // The disk is full, as intended.
    assert.ok(error instanceof Error && "code" in error && error.code === "ENOSPC", String(error))
  } finally {
    closeSync(file)
  }
}
