// Retention: rules that say how long contents are kept. Rules are saved only after a preview has
// counted what they would destroy.

import type {
  RetentionCount,
  RetentionCounting,
  RetentionPreview,
  RetentionRule,
  Workspace,
} from "@tallystick/client/wire"
import { invalid, type Told } from "../../ask.ts"
import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { counted, number, sizeText } from "../../parts/counted.ts"
import { formRows } from "../../parts/form-rows.tsx"
import { Check, Form } from "../../parts/form.tsx"
import { Skeleton } from "../../parts/refused.tsx"
import { showTold } from "../../parts/show-told.tsx"
import { Table, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { State } from "../../parts/verdict.tsx"
import type { Desk, Part } from "../desk.ts"
import { lanes } from "../events/asked.ts"

export function retentionPart(desk: Desk): Part {
  const place = elementOf(<div />)
  place.append(<Skeleton />)
  void showTold(
    place,
    () => desk.get<Workspace>([]),
    ({ retention }) => <Rules desk={desk} rules={retention} />,
  )
  return { node: place }
}

interface RulesProps {
  readonly desk: Desk
  readonly rules: readonly RetentionRule[]
}

function Rules({ desk, rules }: RulesProps) {
  const rows = formRows({ name: "Rule", className: "rules", items: rules, draw: ruleFields })
  const preview = elementOf(<div aria-live="polite" />)
  let counting: object | undefined
  /** Counts are of other rules than these. */
  const changed = (): void => {
    counting = undefined
    redraw(preview)
    // Until they are saved, and not only counted.
    rows.place.dataset["unsaved"] = ""
  }
  const saved = (): void => {
    delete rows.place.dataset["unsaved"]
    redraw(
      preview,
      <p class="soft" role="status">
        The rules are saved.
      </p>,
    )
  }
  const submit = async () => {
    const wanted = rows.all().map(ruleIn)
    const mine = (counting = {})
    const show = (content: Node): void => {
      if (counting === mine) redraw(preview, content)
    }
    const told = await previewOf(desk, wanted, (soFar) =>
      show(
        <p class="soft" role="status">
          {counted(soFar.counted, "entry", "entries")} of {number(soFar.of)} counted …
        </p>,
      ),
    )
    if (told.ok) show(<Preview desk={desk} rules={wanted} of={told.value} saved={saved} />)
    return told
  }
  const form = elementOf(
    <Form action="Count what they would destroy" submit={submit}>
      <p class="soft">
        The first rule that fits an entry says for how many days its contents are kept. What no rule
        fits is kept for ever. Consents expire only by a rule that names their action. Policies,
        erasures and changes of access never expire.
      </p>
      {rows.node}
    </Form>,
  )
  form.classList.add("rules-form")
  form.addEventListener("input", changed)
  return (
    <>
      {form}
      {preview}
    </>
  )
}

function ruleFields(rule: RetentionRule | undefined) {
  return (
    <>
      <label>
        <span>Days</span>
        <input class="field" type="number" name="days" min={1} required value={rule?.days ?? ""} />
      </label>
      <label>
        <span>Project</span>
        <input
          class="field mono"
          name="projectId"
          placeholder="every"
          value={rule?.projectId ?? ""}
        />
      </label>
      <label>
        <span>Lane</span>
        <select class="field" name="lane">
          <option value="">every</option>
          {lanes.map((lane) => (
            <option value={lane} selected={lane === rule?.lane}>
              {lane}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Action begins with</span>
        <input class="field mono" name="action" placeholder="any" value={rule?.action ?? ""} />
      </label>
    </>
  )
}

function ruleIn(row: HTMLElement): RetentionRule {
  const value = (name: string): string =>
    row.querySelector<HTMLInputElement>(`[name=${name}]`)?.value.trim() ?? ""
  const lane = lanes.find((each) => each === value("lane"))
  return {
    ...(value("projectId") !== "" && { projectId: value("projectId") }),
    ...(lane !== undefined && { lane }),
    ...(value("action") !== "" && { action: value("action") }),
    days: Number(value("days")),
  }
}

/** A large ledger is counted in several requests. */
async function previewOf(
  desk: Desk,
  retention: readonly RetentionRule[],
  tell: (counting: RetentionCounting) => void,
): Promise<Told<RetentionPreview>> {
  for (;;) {
    const told = await desk.send<RetentionPreview | RetentionCounting>(
      "POST",
      ["retention", "preview"],
      { retention },
    )
    if (!told.ok) return told
    if ("token" in told.value) return { ok: true, value: told.value }
    tell(told.value)
  }
}

interface PreviewProps {
  readonly desk: Desk
  readonly rules: readonly RetentionRule[]
  readonly of: RetentionPreview
  readonly saved: () => void
}

function Preview({ desk, rules, of, saved }: PreviewProps) {
  const { entries, bytes, held, token } = of
  const save = async (values: FormData) =>
    entries > 0 && !values.has("seen")
      ? invalid("tick the box to confirm that these contents are destroyed")
      : desk.send("PATCH", [], { retention: rules, confirm: token })
  return (
    <section class="panel" aria-label="What these rules would destroy">
      <h2>
        {entries === 0
          ? "Nothing expires by these rules today"
          : `${counted(entries, "entry loses its contents", "entries lose their contents")}, ${sizeText(bytes)}`}
      </h2>
      {held > 0 && (
        <p class="soft">
          {counted(held, "more is", "more are")} old enough, and{" "}
          <a href={desk.link(["lifetime", "holds"])}>held</a>.
        </p>
      )}
      {entries > 0 && <Counts of={of} />}
      <Form action="Save the rules" submit={save} done={saved}>
        {entries > 0 && (
          <>
            <State in="p" tone="attention">
              What has expired is destroyed within a day. Nobody can undo it.
            </State>
            <Check
              name="seen"
              label={`The contents of ${counted(entries, "entry", "entries")} may be destroyed for ever`}
            />
          </>
        )}
      </Form>
    </section>
  )
}

const counts: readonly Column<RetentionCount>[] = [
  { name: "Entries", draw: ({ entries }) => number(entries) },
  { name: "Size", draw: ({ bytes }) => sizeText(bytes) },
]

function Counts({ of }: { readonly of: RetentionPreview }) {
  const counted = <Item extends RetentionCount>(
    name: string,
    items: readonly Item[],
    draw: (item: Item) => Child,
  ) => (
    <div>
      <Table columns={[{ name, isPlain: true, draw }, ...counts]} items={items} />
    </div>
  )
  return (
    <div class="two">
      {counted("Rule", of.rules, ({ rule }) => rule + 1)}
      {counted("Lane", of.lanes, ({ lane }) => (
        <Text of={lane} />
      ))}
      {counted("Project", of.projects, ({ projectId }) => (
        <Text of={projectId} />
      ))}
      {counted("Month", of.months, ({ month }) => month)}
    </div>
  )
}
