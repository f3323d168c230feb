import type { Epochs, LogKeys } from "@tallystick/client/wire"
import { askedTogether, invalid, type Told } from "../../ask.ts"
import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { Field, Form, RefusedLine, textIn } from "../../parts/form.tsx"
import { announce } from "../../parts/page.tsx"
import { Verdict } from "../../parts/verdict.tsx"
import { apiUrl } from "../../place.ts"
import { trustedVkeys } from "../../trusted-keys.ts"
import type { Desk } from "../desk.ts"
import type { Found } from "./chain-watch.ts"
import type { WorkerReport, WorkerTask } from "./chain-worker.ts"
import { Ends } from "./links.tsx"
import type { ChainFinding, Range } from "./verify-chain.ts"

export function browserCheck(desk: Desk) {
  const place = elementOf(<div class="check-result" />)
  let worker: Worker | undefined
  let wanted: object | undefined
  const cancel = (): void => {
    worker?.terminate()
    worker = wanted = undefined
  }
  const start = async (range?: Range): Promise<void> => {
    cancel()
    const mine = (wanted = {})
    const bar = progress(() => {
      cancel()
      redraw(place, <p class="soft">Cancelled. Nothing is said of what was not checked.</p>)
    })
    redraw(place, bar.node)
    const task = await taskFor(desk, range)
    // It was cancelled, or begun again.
    if (wanted !== mine) return
    if (!task.ok) return redraw(place, <RefusedLine refusal={task.refusal} />)
    worker = runTask(task.value, (report) => {
      if (report.is === "checking") return bar.tell(report.done, report.of)
      if (report.is === "checked") desk.chain.found(foundIn(report.finding, range))
      redraw(place, <Outcome of={report} />)
      announce(place.querySelector("h2")?.textContent ?? "")
    })
  }
  const submit = async (values: FormData): Promise<Told<void>> => {
    const [from, to] = [Number(textIn(values, "from")), Number(textIn(values, "to"))]
    if (to < from) return invalid("the last must not be before the first")
    return { ok: true, value: await start({ from, to }) }
  }
  const size = desk.chain.state()?.checkpoint?.sequence
  return {
    node: (
      <section>
        <h2>Check it yourself</h2>
        <p class="soft">
          Your browser reads the records, hashes each, follows every link, and compares the tree
          with the root that the log's key has signed. What an entry says is checked where it is
          shown.
        </p>
        <p class="actions check-actions">
          <Button kind="main" onClick={() => void start()}>
            Verify everything
          </Button>
        </p>
        <Fold title="Verify a range">
          <Form action="Verify it" submit={submit}>
            <div class="form-pair">
              <Field name="from" label="From entry" type="number" min={1} value={1} />
              <Field name="to" label="To entry" type="number" min={1} value={size ?? ""} />
            </div>
          </Form>
        </Fold>
        {place}
      </section>
    ),
    start: (range?: Range) => void start(range),
    cancel,
  }
}

/** If only the tree shows a fault, any of the entries may be it. */
function foundIn(finding: ChainFinding, range: Range | undefined): Found {
  if (finding.holds) return finding
  const { what, sequence } = finding
  const first = range?.from ?? 1
  return { sequence: what === "root" ? first : (sequence ?? first), detail: reasons[what] }
}

export interface SignedEpoch {
  readonly epoch: number
  readonly genesis: string
  readonly keys: LogKeys["keys"]
}

/** The epochs of the log, oldest first, each with the keys that have signed it. */
export async function signedEpochs(desk: Desk): Promise<Told<readonly SignedEpoch[]>> {
  const told = await desk.get<Epochs>(["tlog", "epochs"])
  if (!told.ok) return told
  const { epochs } = told.value
  const lists = await askedTogether(
    epochs.map(({ epoch }) => desk.get<LogKeys>(["tlog", "epochs", String(epoch), "keys"])),
  )
  if (!lists.ok) return lists
  const signed = epochs.map((each, at) => ({ ...each, keys: lists.value[at]?.keys ?? [] }))
  return { ok: true, value: signed }
}

/** The data that a check needs first: the genesis and the keys of each epoch. */
export async function taskFor(desk: Desk, range?: Range): Promise<Told<WorkerTask>> {
  const told = await signedEpochs(desk)
  if (!told.ok) return told
  const task = {
    log: `${apiUrl(desk.workspace, "tlog").href}/`,
    geneses: told.value.map(({ genesis }) => genesis),
    keys: told.value.flatMap(({ keys }) => keys.map(({ vkey }) => vkey)),
    trustedKeys: trustedVkeys(),
    ...(range && { range }),
  }
  return { ok: true, value: task }
}

export function runTask(task: WorkerTask, tell: (report: WorkerReport) => void): Worker {
  const worker = new Worker(new URL("./chain-worker.ts", import.meta.url), { type: "module" })
  worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => {
    if (data.is !== "checking") worker.terminate()
    tell(data)
  }
  worker.onerror = () => {
    worker.terminate()
    tell({ is: "unreachable", detail: "this browser could not run the check" })
  }
  worker.postMessage(task)
  return worker
}

function progress(cancel: () => void) {
  const bar = document.createElement("progress")
  bar.setAttribute("aria-label", "Progress")
  const text = elementOf(<span>Reading</span>)
  return {
    node: (
      <div class="progress small soft">
        {bar} {text}{" "}
        <Button kind="plain" onClick={cancel}>
          Cancel
        </Button>
      </div>
    ),
    tell(done: number, of: number): void {
      bar.max = of
      bar.value = done
      text.textContent = `${number(done)} of ${number(of)} entries`
    },
  }
}

function Outcome({ of: report }: { readonly of: WorkerReport }): Node {
  if (report.is === "unreachable")
    return (
      <Verdict tone="neutral" title="Not checked" isPart>
        <p>It could not be read to its end: {report.detail}.</p>
      </Verdict>
    )
  if (report.is !== "checked") return <></>
  const { finding, entries, ms } = report
  if (!finding.holds) return <Broken finding={finding} />
  const { from, to, signedTo, isTrusted } = finding
  const [count, seconds] = [number(entries), (ms / 1000).toFixed(1)]
  return (
    <Verdict
      tone={isTrusted ? "intact" : "attention"}
      title={`#${number(from)} to #${number(to)} hold`}
      isPart
    >
      <p>
        {count} {entries === 1 ? "entry was" : "entries were"} read, hashed and linked again in this
        browser, and the root agrees with the checkpoint of #{number(signedTo)}. {seconds} s,{" "}
        {number(Math.round(entries / Math.max(ms / 1000, 0.001)))} a second.
      </p>
      <p>
        {isTrusted
          ? "A key that you trust has signed it."
          : "The key that signed it came from this same service, and you have not confirmed it: compare it below."}
      </p>
    </Verdict>
  )
}

const reasons = {
  genesis: "The genesis of the ledger cannot be read, or names another ledger.",
  checkpoint: "None of the log's keys has signed its checkpoint.",
  root: "The tree of these entries is not the one that was signed.",
  record: "There is no such record, or it cannot be read.",
  tile: "A stored hash of the tree does not match the entries.",
  index: "The record has another index.",
  ledger: "The record is of another ledger.",
  link: "Its previous hash is not that of the entry before it.",
  time: "It is older than the entry before it.",
} as const

function Broken({ finding }: { readonly finding: Extract<ChainFinding, { holds: false }> }): Node {
  const { what, sequence, expected, found } = finding
  const where: Child = sequence === undefined ? "" : ` at #${number(sequence)}`
  return (
    <Verdict tone="broken" title={`Does not hold${where}`} isPart>
      <p>{reasons[what]}</p>
      {expected !== undefined && found !== undefined && (
        <ol class="links">
          <Ends left={expected} right={found} />
        </ol>
      )}
      <p>
        Keep this page and every receipt and export that you have: they show what was recorded
        before.
      </p>
    </Verdict>
  )
}
