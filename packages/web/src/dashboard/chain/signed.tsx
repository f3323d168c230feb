// The checkpoint and the key that signed it. A rewritten log contradicts a checkpoint that somebody
// has kept.

import { askText, unreachable, type Told } from "../../ask.ts"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { Copy, CopyCurl } from "../../parts/copy.tsx"
import { number } from "../../parts/counted.ts"
import { Facts } from "../../parts/facts.tsx"
import { Fold } from "../../parts/fold.tsx"
import { Field, Form, RefusedLine, textIn } from "../../parts/form.tsx"
import { Icon } from "../../parts/icon.tsx"
import { Table, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { Verdict } from "../../parts/verdict.tsx"
import { apiUrl } from "../../place.ts"
import { showTold } from "../../parts/show-told.tsx"
import { save, saveIcon } from "../../save.ts"
import { trust, trustedVkeys } from "../../trusted-keys.ts"
import type { Desk } from "../desk.ts"
import { runTask, signedEpochs, taskFor, type SignedEpoch } from "./browser-check.tsx"
import type { KeptFinding } from "./verify-chain.ts"

export function signedPart(desk: Desk) {
  const place = elementOf(<div />)
  const refused = elementOf(<div role="alert" />)
  const keys = elementOf(<div />)
  const draw = (): void => {
    const state = desk.chain.state()
    if (state === undefined) return
    const { checkpoint } = state
    if (checkpoint === undefined)
      return redraw(
        place,
        <p class="soft">Nothing is signed yet. A checkpoint follows a write within seconds.</p>,
      )
    redraw(
      place,
      <Facts
        rows={[
          ["Covers", `#1 to #${number(checkpoint.sequence)}`],
          ["Signed", <Time at={checkpoint.signedAt} />],
          ["Key", <Text of={checkpoint.vkey} in="code" />],
        ]}
      />,
    )
  }
  draw()
  void showTold(
    keys,
    () => signedEpochs(desk),
    (epochs, again) => <Keys of={epochs} changed={again} />,
  )
  return {
    draw,
    node: (
      <section>
        <h2>Signed</h2>
        {place}
        <p class="actions signed-actions">
          <Button onClick={() => void saveCheckpoint(desk, refused)}>
            <Icon of={saveIcon} /> Save this checkpoint
          </Button>
          <CopyCurl url={apiUrl(desk.workspace, "integrity").href} />
        </p>
        {refused}
        {keys}
        <Compare desk={desk} />
      </section>
    ),
  }
}

async function saveCheckpoint({ workspace, inSession }: Desk, refused: Element): Promise<void> {
  refused.replaceChildren()
  const told = await inSession(() => askText(apiUrl(workspace, "tlog", "checkpoint")))
  if (told.ok) save(`${workspace}.checkpoint`, told.value, "text/plain")
  else redraw(refused, <RefusedLine refusal={told.refusal} />)
}

interface KeysProps {
  readonly of: readonly SignedEpoch[]
  readonly changed: () => void
}

function Keys({ of: epochs, changed }: KeysProps) {
  const trusted = new Set(trustedVkeys())
  // Newest first, as each epoch lists its own.
  const items = epochs
    .toReversed()
    .flatMap(({ epoch, keys }) => keys.map((key) => ({ epoch, ...key })))
  const columns: readonly Column<(typeof items)[number]>[] = [
    {
      name: "Key",
      isPlain: true,
      draw: ({ vkey }) => (
        <span class="log-key">
          <Text of={vkey} in="code" /> <Copy text={vkey} label="Copy key" />
        </span>
      ),
    },
    ...(epochs.length > 1
      ? [{ name: "Epoch", draw: ({ epoch }: Pick<SignedEpoch, "epoch">) => number(epoch) }]
      : []),
    {
      name: "Signs for sizes",
      draw: ({ fromSize, toSize }) =>
        `${number(fromSize)} ${toSize === null ? "and on" : `to ${number(toSize)}`}`,
    },
    {
      name: "In this browser",
      draw: ({ vkey }) =>
        trusted.has(vkey) ? (
          "you trust it"
        ) : (
          <Button
            kind="plain"
            onClick={() => {
              trust(vkey)
              changed()
            }}
          >
            I compared it: trust it
          </Button>
        ),
    },
  ]
  return <Table columns={columns} items={items} />
}

const findings: Readonly<
  Record<KeptFinding, readonly [tone: "intact" | "broken" | "neutral", title: string, says: string]>
> = {
  "same log": [
    "intact",
    "The same log",
    "All that your checkpoint covers is still there, unchanged, at the beginning of the log.",
  ],
  "other log": [
    "broken",
    "Not the same log",
    "This log did not grow from the one that your checkpoint was signed for. Keep your checkpoint: it is evidence.",
  ],
  "not signed": [
    "neutral",
    "Not a checkpoint of this log",
    "None of the log's keys has signed it. Paste the whole text, with the lines of its signatures.",
  ],
  newer: [
    "broken",
    "Your checkpoint covers more",
    "The log has fewer entries than were signed for when you kept it. Something is missing.",
  ],
}

function Compare({ desk }: { readonly desk: Desk }) {
  const place = elementOf(<div class="check-result" />)
  const submit = async (values: FormData): Promise<Told<KeptFinding>> => {
    const task = await taskFor(desk)
    if (!task.ok) return task
    const kept = `${textIn(values, "kept")?.replaceAll("\r", "").trimEnd() ?? ""}\n`
    return new Promise((resolve) => {
      runTask({ ...task.value, kept }, (report) => {
        if (report.is === "unreachable") resolve(unreachable(report.detail))
        if (report.is === "compared") resolve({ ok: true, value: report.finding })
      })
    })
  }
  const show = (finding: KeptFinding): void => {
    const [tone, title, says] = findings[finding]
    redraw(
      place,
      <Verdict tone={tone} title={title} isPart>
        <p>{says}</p>
      </Verdict>,
    )
  }
  return (
    <Fold title="Compare with a checkpoint that you kept">
      <Form action="Compare" submit={submit} done={show}>
        <Field
          name="kept"
          label="Checkpoint"
          type="textarea"
          isMono
          hint="As it was saved here, or by anyone who watches the log."
        />
      </Form>
      {place}
    </Fold>
  )
}
