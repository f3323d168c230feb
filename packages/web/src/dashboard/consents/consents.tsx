// Consents: how many were given and withdrawn, and what one person agreed to, at any time.

import type { ConsentCount, ConsentSummary } from "@tallystick/client/wire"
import { elementOf, redraw, type Child } from "../../elements/elements.ts"
import { number } from "../../parts/counted.ts"
import { Fold } from "../../parts/fold.tsx"
import { showTold } from "../../parts/show-told.tsx"
import { Table, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { dayMs } from "../../parts/spans.ts"
import type { Desk, OpenView } from "../desk.ts"
import type { Place } from "../place.ts"
import { projectChoice } from "../project-choice.tsx"
import { Tabs } from "../tabs.tsx"
import { ConsentLookUp } from "./look-up.tsx"

export const openConsents: OpenView = (desk, place) => {
  const choice = projectChoice(desk)
  const counts = elementOf(<div aria-busy="true" />)
  const person = elementOf(<div />)
  let shown: string | undefined
  let load = (): void => {}
  const draw = (to: Place): void => {
    const project = to.rest[0] ?? usualProject
    const days = to.query.get("days")
    const href = (each: string): string => desk.link(["consents", each], { days: days ?? "" })
    choice.show({ project, href })
    load = () => drawCounts({ desk, project, days }, counts)
    load()
    // The result for a person stays when the reader chooses other days for the counts.
    if (shown === project) return
    shown = project
    redraw(person, <ConsentLookUp desk={desk} projectId={project} found={() => load()} />)
  }
  draw(place)
  return {
    title: "Consents",
    node: (
      <>
        <section class="top">
          <h1>Consents</h1>
          <p class="lead soft">
            Who agreed to which version of a policy, how, and who no longer agrees. The counts are
            of what was given and withdrawn, not of people.
          </p>
          {choice.node}
          {counts}
        </section>
        <section>
          <h2>What one person agreed to</h2>
          {person}
        </section>
      </>
    ),
    moved: draw,
  }
}

const usualProject = "core"

interface Asked {
  readonly desk: Desk
  readonly project: string
  /** Null for all. */
  readonly days: string | null
}

const ranges: readonly (readonly [days: string | null, name: string])[] = [
  ["30", "Last 30 days"],
  ["365", "Last 12 months"],
  [null, "All"],
]

function drawCounts({ desk, project, days }: Asked, place: HTMLElement): void {
  const from =
    days === null || !/^\d{1,5}$/.test(days)
      ? undefined
      : new Date((Math.floor(Date.now() / dayMs) - Number(days) + 1) * dayMs).toISOString()
  void showTold(
    place,
    () => desk.get<ConsentSummary>(["consents", "summary"], { projectId: project, from }),
    (summary) => (
      <>
        <Tabs
          label="Days"
          isSmall
          tabs={ranges}
          href={(each) => desk.link(["consents", project], { days: each ?? "" })}
          current={days}
        />
        {summary.given + summary.withdrawn === 0 ? (
          <Nothing isAll={from === undefined} />
        ) : (
          <Counts of={summary} desk={desk} />
        )}
      </>
    ),
  )
}

function Nothing({ isAll }: { readonly isAll: boolean }) {
  return isAll ? (
    <p class="soft">
      Nobody has agreed to anything in this project yet. A program records a consent with{" "}
      <code>POST /v1/consents</code>.
    </p>
  ) : (
    <p class="soft">Nothing was given or withdrawn in these days.</p>
  )
}

const counts: readonly Column<ConsentCount>[] = [
  { name: "Given", draw: ({ given }) => number(given) },
  { name: "Withdrawn", draw: ({ withdrawn }) => number(withdrawn) },
]

function Counts({ of, desk }: { readonly of: ConsentSummary; readonly desk: Desk }) {
  const { given, withdrawn, versions, modes, surfaces, days, projectId } = of
  const version = (number: number | null): Child =>
    number === null ? (
      "all"
    ) : (
      <Text of={String(number)} in="a" href={desk.link(["policies", projectId])} />
    )
  return (
    <>
      <p class="counts">
        <b>{number(given)}</b> given, <b>{number(withdrawn)}</b> withdrawn
      </p>
      <Fold id="consents-by-day" open={days.length <= 7} title="By day" beside="of UTC">
        <Table
          columns={[{ name: "Day", isPlain: true, draw: ({ day }) => day }, ...counts]}
          items={days.toReversed()}
        />
      </Fold>
      <div class="two">
        <div>
          <Table
            columns={[{ name: "Version", draw: (each) => version(each.policyVersion) }, ...counts]}
            items={versions}
          />
        </div>
        <div>
          <Table
            columns={[{ name: "Where", draw: ({ surface }) => <Text of={surface} /> }, ...counts]}
            items={surfaces}
          />
        </div>
      </div>
      <Table
        columns={[
          { name: "How", draw: ({ mode }) => <Text of={mode} /> },
          { name: "Given", draw: (mode) => number(mode.given) },
        ]}
        items={modes}
      />
    </>
  )
}
