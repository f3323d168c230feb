import type { Readiness, System } from "@tallystick/client/wire"
import { askJson } from "../../ask.ts"
import { elementOf, redraw } from "../../elements/elements.ts"
import { counted, number, sizeText } from "../../parts/counted.ts"
import { Ago } from "../../parts/time.tsx"
import { Copy } from "../../parts/copy.tsx"
import { Facts } from "../../parts/facts.tsx"
import { Fold } from "../../parts/fold.tsx"
import { Notice, Refused, Skeleton } from "../../parts/refused.tsx"
import { Table } from "../../parts/table.tsx"
import { Lines, Text } from "../../parts/text.tsx"
import { State } from "../../parts/verdict.tsx"
import { root } from "../../place.ts"
import type { OpenView } from "../desk.ts"
import { linkTo } from "../place.ts"

const everyMs = 10_000

export const openSystem: OpenView = (desk) => {
  const title = "System"
  if (!desk.session.member.instanceAdmin)
    return {
      title,
      node: (
        <Notice title="For admins of the instance">
          An admin of the instance sees how the service runs, and can make you one.
        </Notice>
      ),
    }
  const place = elementOf(<div />)
  const load = async (): Promise<void> => {
    const [system, ready] = await Promise.all([
      desk.inSession(() => askJson<System>(new URL("v1/system", root))),
      askJson<Readiness>(new URL("readyz?verbose", root)),
    ])
    if (!system.ok)
      return redraw(place, <Refused refusal={system.refusal} retry={() => void load()} />)
    redraw(place, <Whole system={system.value} ready={ready.ok ? ready.value : undefined} />)
  }
  place.append(<Skeleton />)
  void load()
  const timer = setInterval(() => !document.hidden && void load(), everyMs)
  return { title, node: place, close: () => clearInterval(timer) }
}

interface WholeProps {
  readonly system: System
  readonly ready: Readiness | undefined
}

function Whole({ system, ready }: WholeProps) {
  const { version, node, startedAt, data, broken, settings } = system
  return (
    <>
      <section class="top">
        <h1>System</h1>
        <p class="lead soft">
          Tallystick {version} on Node {node}, since <Ago at={startedAt} />.
        </p>
        {broken.length > 0 && (
          <State in="p" tone="broken">
            Broken chains:{" "}
            {broken.map((id) => (
              <a href={linkTo(id, ["chain"])}>
                <Text of={id} />{" "}
              </a>
            ))}
          </State>
        )}
        <Checks ready={ready} />
      </section>
      <Disk data={data} />
      <Work system={system} />
      <Configuration settings={settings} />
    </>
  )
}

/** With a database, the service knows neither disk nor files. */
function Disk({ data }: Pick<System, "data">) {
  const isFolder = data.engine !== "postgres"
  return (
    <section>
      <h2>{isFolder ? "Disk" : "Data"}</h2>
      <Facts
        rows={[
          ["Data", `${sizeText(data.bytes)}, kept by ${data.engine}`],
          ["Left on the disk", isFolder ? freeText(data) : undefined],
          ["Writes are refused below", isFolder ? sizeText(data.reserveBytes) : undefined],
          ["Last backup", <LastBackup of={data.lastBackup} />],
        ]}
      />
      {isFolder && (
        <Fold title="Files">
          <Table
            columns={[
              { name: "File", isPlain: true, draw: ({ name }) => <Text of={name} /> },
              { name: "Size", draw: ({ bytes }) => sizeText(bytes) },
            ]}
            items={data.files}
          />
        </Fold>
      )}
    </section>
  )
}

function freeText({ freeBytes }: System["data"]): string {
  return freeBytes === undefined ? "unknown" : sizeText(freeBytes)
}

/** A restore is rehearsed elsewhere, so the service does not know about it. */
function LastBackup({ of: backup }: { readonly of: System["data"]["lastBackup"] }) {
  if (backup === undefined)
    return (
      <span>
        none by <code>tallystick backup</code>; of others nothing is known here
      </span>
    )
  return (
    <span>
      <Ago at={backup.at} />, {counted(backup.entries, "entry", "entries")}, each hashed again
    </span>
  )
}

function Work({ system: { writing, followers, audit } }: { readonly system: System }) {
  return (
    <section>
      <h2>Work</h2>
      <Facts
        rows={[
          [
            "Waiting for a commit",
            `${number(writing.queued)} of ${number(writing.queuedMax)} places`,
          ],
          [
            "A commit takes",
            writing.medianUs === undefined || writing.p99Us === undefined
              ? "nothing was written yet"
              : `${msText(writing.medianUs)} at the median, ${msText(writing.p99Us)} at the 99th percentile (of the last ${number(writing.commits)})`,
          ],
          ...followers.map(
            ({ follower, entries }) =>
              [
                followerNames[follower] ?? follower,
                entries === 0 ? "nothing waits" : counted(entries, "entry waits", "entries wait"),
              ] as const,
          ),
          [
            "Reading all again",
            audit && (
              <span>
                round {number(audit.round)}, {number(audit.entries)} entries; the rest was read on{" "}
                <Ago at={audit.since} /> or later
              </span>
            ),
          ],
        ]}
      />
    </section>
  )
}

const followerNames: Readonly<Record<string, string>> = {
  auditor: "To be read again",
  filing: "Waiting for the search index",
  checkpointer: "To be sealed",
}

/** The checks of `/readyz`. */
function Checks({ ready }: { readonly ready: Readiness | undefined }) {
  return (
    <Facts
      rows={(ready?.checks ?? []).map(({ name, ok, detail }) => [
        `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        <>
          <State tone={ok ? "intact" : "attention"}>{ok ? "good" : "look"}</State>
          {detail !== undefined && <Text of={detail} />}
        </>,
      ])}
    />
  )
}

function Configuration({ settings }: Pick<System, "settings">) {
  const text = settings.map(({ name, value }) => `${name}=${value}`).join("\n")
  return (
    <section>
      <h2>Configuration</h2>
      <p class="soft">
        As it runs now; secrets are not shown. <a href={new URL("metrics", root).href}>Metrics</a>{" "}
        are for Prometheus. <code>tallystick doctor</code> looks at the machine, and{" "}
        <code>tallystick fsck</code> at every byte.
      </p>
      <pre class="code" tabIndex={0}>
        <Lines of={text} />
      </pre>
      <p class="actions">
        <Copy text={text} label="Copy" isWide />
      </p>
    </section>
  )
}

function msText(us: number): string {
  return us < 10_000 ? `${(us / 1000).toFixed(1)} ms` : `${Math.round(us / 1000)} ms`
}
