// Retention: rules that say how long contents are kept. Rules are saved only after a preview has
// counted what they would destroy.

import type {
  RetentionCount,
  RetentionCounting,
  RetentionPreview,
  RetentionRule,
  Workspace,
} from "@tallystick/client/wire"
import type { Refusal, Told } from "../../ask.ts"
import type { Child } from "../../elements/jsx-runtime.ts"
import { redraw } from "../../elements/redraw.ts"
import { Button } from "../../parts/button.tsx"
import { counted, number } from "../../parts/counted.ts"
import { Check, Form, orRefusal } from "../../parts/form.tsx"
import { IconButton } from "../../parts/icon-button.tsx"
import { attentionIcon, crossIcon, Icon, plusIcon } from "../../parts/icon.tsx"
import { announce, elementOf } from "../../parts/page.tsx"
import { Skeleton } from "../../parts/refused.tsx"
import { showTold } from "../../parts/show-told.tsx"
import { sizeText } from "../../parts/size.ts"
import { Table } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import type { Desk } from "../desk.ts"
import { lanes } from "../events/asked.ts"
import type { Part } from "./part.ts"

export function retentionPart(desk: Desk): Part {
  const place = elementOf(<div />)
  place.append(<Skeleton />)
  void showTold(
    place,
    () => desk.get<Workspace>([]),
    ({ retention }, again) => <Rules desk={desk} rules={retention} saved={again} />,
  )
  return { node: place }
}

interface RulesProps {
  readonly desk: Desk
  readonly rules: readonly RetentionRule[]
  readonly saved: () => void
}

function Rules({ desk, rules, saved }: RulesProps) {
  const rows = elementOf(<div class="rules" />)
  const preview = elementOf(<div aria-live="polite" />)
  const add = (rule?: RetentionRule): void => {
    rows.append(<RuleRow rule={rule} number={rows.childElementCount + 1} changed={renumber} />)
  }
  /** The count that is under way. */
  let counting: object | undefined
  /** Counts are of other rules than these. */
  const forget = (): void => {
    counting = undefined
    redraw(preview)
  }
  const renumber = (): void => {
    forget()
    for (const [at, legend] of rows.querySelectorAll("legend").entries())
      legend.textContent = `Rule ${at + 1}`
  }
  for (const rule of rules) add(rule)
  const submit = (): Promise<Refusal | undefined> => {
    const wanted = rulesIn(rows)
    const mine = (counting = {})
    const show = (content: Node): void => {
      if (counting === mine) redraw(preview, content)
    }
    const asked = previewOf(desk, wanted, (soFar) =>
      show(
        <p class="soft" role="status">
          {counted(soFar.counted, "entry", "entries")} of {number(soFar.of)} counted …
        </p>,
      ),
    )
    return orRefusal(asked, (found) =>
      show(<Preview desk={desk} rules={wanted} of={found} saved={saved} />),
    )
  }
  const form = elementOf(
    <Form action="Count what they would destroy" submit={submit}>
      <p class="soft">
        The first rule that fits an entry says for how many days its contents are kept. What no rule
        fits is kept for ever. Consents expire only by a rule that names their action. Policies,
        erasures and changes of access never expire.
      </p>
      {rows}
      <p class="actions">
        <Button
          onClick={() => {
            add()
            renumber()
            rows.lastElementChild?.querySelector("input")?.focus()
          }}
        >
          <Icon of={plusIcon} /> Rule
        </Button>
      </p>
    </Form>,
  )
  form.classList.add("rules-form")
  form.addEventListener("input", forget)
  return (
    <>
      {form}
      {preview}
    </>
  )
}

interface RuleRowProps {
  readonly rule: RetentionRule | undefined
  readonly number: number
  readonly changed: () => void
}

function RuleRow({ rule, number, changed }: RuleRowProps) {
  const row = elementOf(
    <fieldset class="rule-row">
      <legend>Rule {number}</legend>
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
      <IconButton
        icon={crossIcon}
        label="Remove this rule"
        onClick={() => {
          row.remove()
          changed()
        }}
      />
    </fieldset>,
  )
  return row
}

function rulesIn(rows: HTMLElement): readonly RetentionRule[] {
  return [...rows.querySelectorAll("fieldset")].map((row) => {
    const value = (name: string): string =>
      row.querySelector<HTMLInputElement>(`[name=${name}]`)?.value.trim() ?? ""
    const lane = lanes.find((each) => each === value("lane"))
    return {
      ...(value("projectId") !== "" && { projectId: value("projectId") }),
      ...(lane !== undefined && { lane }),
      ...(value("action") !== "" && { action: value("action") }),
      days: Number(value("days")),
    }
  })
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
  const save = async (values: FormData): Promise<Refusal | undefined> => {
    if (entries > 0 && !values.has("seen"))
      return {
        status: 0,
        code: "invalid_field",
        detail: "tick the box to confirm that these contents are destroyed",
      }
    return orRefusal(desk.send("PATCH", [], { retention: rules, confirm: token }), () => {
      announce("The rules are saved")
      saved()
    })
  }
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
      <Form action="Save the rules" submit={save}>
        {entries > 0 && (
          <>
            <p class="state attention">
              <Icon of={attentionIcon} />
              <span>What has expired is destroyed within a day. Nobody can undo it.</span>
            </p>
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

function Counts({
  of: { rules, lanes: byLane, projects, months },
}: {
  readonly of: RetentionPreview
}) {
  return (
    <div class="two">
      <Counted name="Rule" of={rules.map(({ rule, ...count }) => [rule + 1, count])} />
      <Counted name="Lane" of={byLane.map(({ lane, ...count }) => [<Text of={lane} />, count])} />
      <Counted
        name="Project"
        of={projects.map(({ projectId, ...count }) => [<Text of={projectId} />, count])}
      />
      <Counted name="Month" of={months.map(({ month, ...count }) => [month, count])} />
    </div>
  )
}

interface CountedProps {
  readonly name: string
  readonly of: readonly (readonly [of: Child, count: RetentionCount])[]
}

function Counted({ name, of }: CountedProps) {
  return (
    <div>
      <Table
        columns={[
          { name, isPlain: true, draw: ([what]) => what },
          { name: "Entries", draw: ([, { entries }]) => number(entries) },
          { name: "Size", draw: ([, { bytes }]) => sizeText(bytes) },
        ]}
        items={of}
      />
    </div>
  )
}
