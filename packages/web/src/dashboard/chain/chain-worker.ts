import {
  compareKept,
  verifyChain,
  type ChainFinding,
  type ChainTask,
  type KeptFinding,
} from "./verify-chain.ts"

export interface WorkerTask extends ChainTask {
  /** The address of the log, which ends with a slash. */
  readonly log: string
  /** A checkpoint to be compared with the log, in place of a check of its entries. */
  readonly kept?: string
}

export type WorkerReport =
  | { readonly is: "checking"; readonly done: number; readonly of: number }
  | {
      readonly is: "checked"
      readonly finding: ChainFinding
      readonly entries: number
      readonly ms: number
    }
  | { readonly is: "compared"; readonly finding: KeptFinding }
  | { readonly is: "unreachable"; readonly detail: string }

const tellEveryMs = 100

onmessage = ({ data }: MessageEvent<WorkerTask>) => void run(data)

async function run(task: WorkerTask): Promise<void> {
  const began = performance.now()
  let toldAt = 0
  let entries = 0
  const read = async (epoch: number, path: string): Promise<Uint8Array> => {
    const response = await fetch(new URL(`epochs/${epoch}/${path.replace(/^\//, "")}`, task.log))
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  }
  try {
    if (task.kept !== undefined)
      return tell({ is: "compared", finding: await compareKept(read, task, task.kept) })
    const finding = await verifyChain(read, task, (done, of) => {
      entries = done
      const now = performance.now()
      if (now - toldAt < tellEveryMs) return
      toldAt = now
      tell({ is: "checking", done, of })
    })
    if (finding.holds) entries = finding.to - finding.from + 1
    tell({ is: "checked", finding, entries, ms: performance.now() - began })
  } catch (error) {
    tell({ is: "unreachable", detail: error instanceof Error ? error.message : String(error) })
  }
}

function tell(report: WorkerReport): void {
  // The type of a window's postMessage differs.
  ;(self as unknown as { postMessage(report: WorkerReport): void }).postMessage(report)
}
