// Derives a data folder's ledger again, in a process of its own whose memory is looked at, and says in a line how fast each pass was.

import { availableParallelism } from "node:os"
import { fsck, passes, type Pass } from "../../packages/server/src/fsck.ts"

export interface FsckMeasured {
  readonly passes: readonly { readonly pass: Pass; readonly perSecond: number; readonly tenthMb: number; readonly endMb: number }[]
}

const [data] = process.argv.slice(2)
if (data !== undefined) process.stdout.write(`${JSON.stringify(await measure(data))}\n`)

async function measure(folder: string): Promise<FsckMeasured> {
  const measured: FsckMeasured["passes"][number][] = []
  let last = 0
  for (const pass of passes) {
    let [done, tenthMb, endMb] = [0, 0, 0]
    const options = { data: folder, headsPath: `${folder}.heads`, workspaces: undefined, checkpoints: [], passes: [pass] }
    const { faults, timings } = await fsck({
      ...options,
      threads: Math.min(availableParallelism(), 8),
      progress(_, __, at) {
        done = at
        endMb = residentMb()
        // The first pass does not know where it will end; it is looked at from its first hundred thousand on.
        if (tenthMb === 0 && at >= (last === 0 ? 100_000 : last / 10)) tenthMb = endMb
      },
    })
    last = Math.max(last, done)
    if (faults.length > 0) throw new Error(`fsck found fault with what the service wrote: ${JSON.stringify(faults)}`)
    const { entries = 0, ms = 0 } = timings[0] ?? {}
    measured.push({ pass, perSecond: entries / (ms / 1000), tenthMb, endMb: endMb === 0 ? residentMb() : endMb })
  }
  return { passes: measured }
}

function residentMb(): number {
  return process.memoryUsage.rss() / 2 ** 20
}
