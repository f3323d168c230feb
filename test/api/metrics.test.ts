import assert from "node:assert/strict"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { rename as renameFile } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { collectDefaultMetrics, Registry } from "@prometheus-io/client"
import { expectChain } from "../chain.ts"
import { faultyProgram } from "../program.ts"
import { damage } from "../promises/damaged.ts"
import { eventFor, eventually, makeWorkspace, startService } from "../service.ts"
import { metric, samplesOf, type Samples } from "../metrics.ts"

// Every metric exists and moves with what it counts; the dashboard and the alerts use no other.

const service = await startService({
  environment: {
    TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "20000",
    TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "100",
    TALLYSTICK_LIMIT_FILE_EVERY_MS: "50",
  },
})
after(() => service[Symbol.asyncDispose]())
const anonymous = service.client()

const read = async (): Promise<Samples> => samplesOf((await anonymous.get("/metrics")).text)

/** Names of all series, without the suffixes of a histogram. */
const metrics = [
  "nodejs_eventloop_lag_max_seconds",
  "nodejs_eventloop_lag_mean_seconds",
  "nodejs_eventloop_lag_min_seconds",
  "nodejs_eventloop_lag_p50_seconds",
  "nodejs_eventloop_lag_p90_seconds",
  "nodejs_eventloop_lag_p99_seconds",
  "nodejs_eventloop_lag_seconds",
  "nodejs_eventloop_lag_stddev_seconds",
  "nodejs_external_memory_bytes",
  "nodejs_heap_size_total_bytes",
  "nodejs_heap_size_used_bytes",
  "process_cpu_seconds_total",
  "process_cpu_system_seconds_total",
  "process_cpu_user_seconds_total",
  ...(process.platform === "linux" ? ["process_max_fds", "process_open_fds"] : []),
  "process_resident_memory_bytes",
  "process_start_time_seconds",
  "tallystick_archive_bytes",
  "tallystick_archive_failures_total",
  "tallystick_archive_overdue_seconds",
  "tallystick_archive_segments",
  "tallystick_audit_failed_entries",
  "tallystick_audit_round",
  "tallystick_audit_round_entries",
  "tallystick_audit_unread_workspaces",
  "tallystick_audit_unverified_age_seconds",
  "tallystick_audit_verified_entries_total",
  "tallystick_build_info",
  "tallystick_checkpoint_age_seconds",
  "tallystick_checkpoint_lag_seconds",
  "tallystick_commit_duration_seconds",
  "tallystick_commit_entries",
  "tallystick_disk_free_bytes",
  "tallystick_disk_reserve_bytes",
  "tallystick_entries_total",
  "tallystick_erased_entries_total",
  "tallystick_erasure_failures_total",
  "tallystick_erasures_total",
  "tallystick_expired_bodies_total",
  "tallystick_expiry_failures_total",
  "tallystick_expiry_held_total",
  "tallystick_expiry_runs_total",
  "tallystick_exported_entries_total",
  "tallystick_failed_logins_total",
  "tallystick_failures_total",
  "tallystick_follower_lag_entries",
  "tallystick_integrity_failures_total",
  "tallystick_packed_bytes_total",
  "tallystick_packed_entries_total",
  "tallystick_queued_entries",
  "tallystick_replays_total",
  "tallystick_request_duration_seconds",
]

const lagOf = (follower: string): string =>
  `tallystick_follower_lag_entries{follower="${follower}"}`

test("the service has the listed metrics, named by the rules of Prometheus", async () => {
  const { text } = await anonymous.get("/metrics")
  const typed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => ({
    name,
    type,
  }))
  assert.deepEqual(typed.map(({ name }) => name).toSorted(), metrics)
  for (const { name, type } of typed) {
    assert.match(
      text,
      new RegExp(`^# HELP ${name} [A-Z0-9].{9,}$`, "m"),
      `${name} is not explained`,
    )
    assert.equal(type === "counter", name.endsWith("_total"), `${name} is a ${type}`)
    if (type === "histogram") assert.match(name, /_(seconds|bytes|entries)$/)
  }
  // Dashboards for Node know these by the names that the library gives its own.
  const library = new Registry()
  collectDefaultMetrics({ register: library })
  const known = new Set(
    (await library.getMetricsAsJSON()).map(({ name, type }) => `${name} ${type}`),
  )
  const foreign = typed.filter(
    ({ name, type }) => !name.startsWith("tallystick_") && !known.has(`${name} ${type}`),
  )
  assert.deepEqual(foreign, [], "no other program has these")
  assert.ok(
    !/_(ms|milliseconds|kb|mb|minutes)\b/i.test(typed.map(({ name }) => name).join(" ")),
    "seconds and bytes",
  )
})

test("the process metrics are measured", async () => {
  const before = await read()
  await Promise.all(Array.from({ length: 50 }, () => read()))
  const now = await read()
  const value = (name: string): number => now.get(name) ?? Number.NaN
  const grown = (name: string): number => value(name) - (before.get(name) ?? 0)
  assert.ok(grown("process_cpu_user_seconds_total") > 0)
  const [user, system, both] = ["user_seconds", "system_seconds", "seconds"].map((name) =>
    value(`process_cpu_${name}_total`),
  )
  assert.ok(
    Math.abs((user ?? 0) + (system ?? 0) - (both ?? 0)) < 0.1,
    `${user} + ${system} = ${both}`,
  )
  const age = Date.now() / 1000 - value("process_start_time_seconds")
  assert.ok(age > 0 && age < 600, `${age} s old`)
  assert.ok(value("nodejs_heap_size_used_bytes") < value("nodejs_heap_size_total_bytes"))
  assert.ok(value("nodejs_heap_size_total_bytes") < value("process_resident_memory_bytes"))
  assert.ok(value("nodejs_external_memory_bytes") > 0)
  const lag = (name: string): number => value(`nodejs_eventloop_lag_${name}seconds`)
  assert.ok(lag("") >= 0 && lag("") < 10)
  const quantiles = await eventually("delays were measured", async () => {
    const samples = await read()
    const all = ["min", "p50", "p90", "p99", "max"].map(
      (name) => samples.get(`nodejs_eventloop_lag_${name}_seconds`) ?? Number.NaN,
    )
    return all.includes(0) ? undefined : all
  })
  assert.deepEqual(
    quantiles,
    quantiles.toSorted((a, b) => a - b),
  )
  assert.ok((quantiles.at(-1) ?? Number.NaN) < 60, `${quantiles.at(-1)} s`)
  if (process.platform !== "linux") return
  const sockets = await Promise.all(
    Array.from({ length: 200 }, () => connected(new URL(service.url))),
  )
  // The system makes a connection before the service has taken it.
  assert.ok(value("process_open_fds") < sockets.length)
  await eventually(
    "connections to be descriptors",
    async () => ((await read()).get("process_open_fds") ?? 0) >= sockets.length,
  )
  for (const socket of sockets) socket.destroy()
  assert.ok(value("process_max_fds") > value("process_open_fds"))
})

async function connected({ hostname, port }: URL): Promise<Socket> {
  const socket = connect(Number(port), hostname)
  await once(socket, "connect")
  return socket
}

test("gauges of followers and queues move under load and come to rest", async () => {
  const { id, writer } = await makeWorkspace(service)
  let writing = true
  const write = async (): Promise<void> => {
    while (writing) {
      const events = Array.from({ length: 300 }, () => ({
        idempotencyKey: crypto.randomUUID(),
        ...eventFor(id),
      }))
      assert.equal((await writer.post("/v1/events/batch", { events })).status, 202)
    }
  }
  const before = await read()
  const writers = [write(), write()]
  const moving = [
    "tallystick_queued_entries",
    "tallystick_checkpoint_age_seconds",
    ...["checkpointer", "filing", "auditor"].map(lagOf),
  ]
  const still = new Set(moving)
  try {
    await eventually(`these move: ${[...still].join(", ")}`, async () => {
      const now = await read()
      for (const name of still) if ((now.get(name) ?? 0) > 0) still.delete(name)
      return still.size === 0
    })
  } finally {
    writing = false
    await Promise.allSettled(writers)
  }
  await Promise.all(writers)
  const now = await eventually("all come to rest", async () => {
    const samples = await read()
    return moving.every((name) => samples.get(name) === 0) ? samples : undefined
  })
  const grown = (name: string): number => (now.get(name) ?? 0) - (before.get(name) ?? 0)
  const written = grown('tallystick_entries_total{lane="operations"}')
  assert.ok(written >= 300, `${written} entries`)
  assert.ok(grown("tallystick_commit_entries_sum") >= written)
  for (const name of ["tallystick_commit_duration_seconds", "tallystick_checkpoint_lag_seconds"])
    assert.ok(
      grown(`${name}_count`) > 0 && grown(`${name}_sum`) > 0 && grown(`${name}_sum`) < 60,
      name,
    )
  assert.notEqual(grown("tallystick_disk_free_bytes"), 0)
  assert.equal(now.get("tallystick_disk_reserve_bytes"), 64 * 1024 * 1024)
  await expectChain(service.root, id)
})

test("requests, refusals, replays and errors are counted, and buckets add up", async () => {
  const { id, writer } = await makeWorkspace(service)
  const before = await read()
  const key = crypto.randomUUID()
  for (let time = 0; time < 3; time++)
    await writer.write(eventFor(id, { action: "auth.login" }), key)
  assert.equal((await writer.write(eventFor(id, { source: "cron" }))).status, 400)
  await anonymous.post("/v1/session", { email: "nobody@example.com", password: "not the password" })
  const now = await read()
  const grown = (name: string): number => (now.get(name) ?? 0) - (before.get(name) ?? 0)
  assert.equal(grown('tallystick_entries_total{lane="security"}'), 1)
  assert.equal(grown("tallystick_replays_total"), 2)
  assert.equal(grown("tallystick_failed_logins_total"), 1)
  const route = 'route="/v1/events",method="POST",status="202"'
  const series = "tallystick_request_duration_seconds"
  assert.equal(grown(`${series}_count{${route}}`), 3)
  assert.equal(grown(`${series}_count{${route.replace("202", "400")}}`), 1)
  const buckets = [...now]
    .filter(([name]) => name.startsWith(`${series}_bucket`) && name.includes(route))
    .map(([, count]) => count)
  assert.deepEqual(
    buckets,
    buckets.toSorted((a, b) => a - b),
    "each bucket holds the smaller ones",
  )
  assert.deepEqual([buckets.length, buckets.at(-1)], [14, now.get(`${series}_count{${route}}`)])
  assert.ok(grown(`${series}_sum{${route}}`) > 0 && grown(`${series}_sum{${route}}`) < 10)
  assert.ok(!now.keys().some((name) => name.includes(id)), "no metric names a workspace")
  const build = [...now].find(([name]) => name.startsWith("tallystick_build_info"))
  assert.match(build?.[0] ?? "", /\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\}$/)
  assert.equal(build?.[1], 1)
  await expectChain(service.root, id)
})

test("re-verified, unreadable and broken entries are counted", async () => {
  const first = await read()
  const later = await eventually("another round", async () => {
    const now = await read()
    return (now.get("tallystick_audit_round") ?? 0) > (first.get("tallystick_audit_round") ?? 0) + 1
      ? now
      : undefined
  })
  const verified = "tallystick_audit_verified_entries_total"
  assert.ok((later.get(verified) ?? 0) > (first.get(verified) ?? 0))
  assert.ok((later.get("tallystick_audit_round_entries") ?? 0) > 0)
  const age = later.get("tallystick_audit_unverified_age_seconds") ?? -1
  assert.ok(age >= 0 && age < 60, `${age} s`)

  const { id, writer, path, reader } = await makeWorkspace(service)
  const { receipt } = (await writer.write(eventFor(id))).json()
  assert.equal((await reader.get(`${path}/receipts/${receipt}/proof`)).status, 200)
  const unread = async (isSo: (count: number) => boolean): Promise<true | undefined> =>
    isSo((await read()).get("tallystick_audit_unread_workspaces") ?? -1) ? true : undefined
  rename("entries", "elsewhere")
  await eventually("what cannot be read is counted", () => unread((count) => count > 0))
  rename("elsewhere", "entries")
  await eventually("it can be read again", () => unread((count) => count === 0))

  damage(service.data, receipt, "a byte of the body")
  const broken = await eventually("it is found", async () => {
    const now = await read()
    return now.get("tallystick_audit_failed_entries") === 1 ? now : undefined
  })
  assert.equal(broken.get("tallystick_integrity_failures_total"), 1)
})

test("requests that fail unexpectedly are counted, and fill no log", async () => {
  const planted = { program: faultyProgram, arguments: ["chokes on emptiness"] }
  await using failing = await startService({
    ...planted,
    environment: { TALLYSTICK_LIMIT_FAILURE_LINES_PER_MINUTE: "3" },
  })
  const { id, writer } = await makeWorkspace(failing)
  for (let time = 0; time < 50; time++)
    assert.equal((await writer.write(eventFor(id, { metadata: { empty: "" } }))).status, 503)
  assert.equal(await metric(failing, "tallystick_failures_total"), 50)
  assert.equal(failing.log().match(/"a request failed"/g)?.length, 3)
  await expectChain(failing.root, id)
})

test("an unreadable disk removes no other metric", async () => {
  const name = "tallystick_disk_free_bytes"
  await renameFile(service.data, `${service.data}-elsewhere`)
  const [without] = await Promise.allSettled([read()])
  await renameFile(`${service.data}-elsewhere`, service.data)
  assert.ok(without.status === "fulfilled", "there are no metrics")
  assert.ok(
    Number.isNaN(without.value.get(name)),
    `${without.value.get(name)} bytes are free of a disk that is not there`,
  )
  assert.ok((without.value.get("process_resident_memory_bytes") ?? 0) > 0)
  assert.ok(((await read()).get(name) ?? 0) > 0)
})

function rename(from: string, to: string): void {
  using journal = new DatabaseSync(join(service.data, "journal.db"), { timeout: 10_000 })
  journal.exec(`ALTER TABLE ${from} RENAME TO ${to}`)
}

// What operators are given ------------------------------------------------------------------------

const folder = join(import.meta.dirname, "..", "..", "packages", "server", "monitoring")
const dashboard = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8")) as Dashboard

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly type: string
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }[]
}

/** The series and labels that an expression uses and the samples lack. */
function unknownIn(expression: string, samples: Samples): readonly string[] {
  const names = [...samples.keys()]
  // What the scraper adds to every series.
  const added = ["instance", "job"]
  const faults: string[] = []
  for (const [, name = "", , selector = ""] of expression.matchAll(
    /\b((?:tallystick|process|nodejs)_\w+)(\{([^}]*)\})?/g,
  )) {
    const series = names.filter((one) => one === name || one.startsWith(`${name}{`))
    if (series.length === 0) faults.push(name)
    for (const [, label = ""] of selector.matchAll(/(\w+)\s*[=!]~?"/g))
      if (!added.includes(label) && !series.some((one) => one.includes(`${label}="`)))
        faults.push(`${name}{${label}}`)
  }
  return faults
}

test("the dashboard uses existing metrics, and shows all of them", async () => {
  const samples = await read()
  const asked = dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr })),
  )
  for (const { title, expr } of asked) assert.deepEqual(unknownIn(expr, samples), [], title)
  assert.ok(asked.length >= 20)
  const all = asked.map(({ expr }) => expr).join("\n")
  for (const name of metrics) assert.ok(all.includes(name), `${name} is not shown`)
  const ids = new Set(dashboard.panels.map(({ id }) => id))
  assert.equal(ids.size, dashboard.panels.length)
})

/** In place of those of the disk, where the ledger is in a database: test/postgres/database-away.ts. */
const ofDatabase = ["tallystick_database_up", "tallystick_database_unreachable_nodes"]

test("the alerts use existing metrics, and say what happened and what to do", async () => {
  const samples = new Map([...(await read()), ...ofDatabase.map((name) => [name, 0] as const)])
  const rules = rulesIn(readFileSync(join(folder, "alerts.yml"), "utf8"))
  assert.ok(rules.length >= 9)
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const {
    alert = "",
    expr = "",
    severity = "",
    summary = "",
    description = "",
    ...others
  } of rules) {
    assert.match(alert, /^Tallystick[A-Z]\w+$/)
    assert.ok(expr.includes("tallystick_"), alert)
    assert.deepEqual(unknownIn(expr, samples), [], alert)
    assert.match(severity, /^(page|ticket)$/, alert)
    assert.ok(summary.length > 20 && description.length > 100, `${alert} does not say what to do`)
    assert.deepEqual(Object.keys(others), "for" in others ? ["for"] : [], alert)
    for (const [, variable = ""] of description.matchAll(/\b(TALLYSTICK_\w+)/g))
      assert.ok(
        readFileSync(join(folder, "..", "..", "..", "docs", "configuration.md"), "utf8").includes(
          nameOf(variable),
        ),
        variable,
      )
  }
})

/** The page of settings lists a limit by its name, any other setting by its variable. */
function nameOf(variable: string): string {
  const limit = /^TALLYSTICK_LIMIT_(\w+)$/.exec(variable)?.[1]
  return limit === undefined
    ? variable
    : limit.toLowerCase().replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

test("canary: an unknown metric or label is detected, and so is an invalid rule", async () => {
  const samples = await read()
  assert.deepEqual(
    unknownIn("rate(tallystick_entrys_total[5m]) + tallystick_replays_total", samples),
    ["tallystick_entrys_total"],
  )
  assert.deepEqual(unknownIn('tallystick_entries_total{workspace="acme",instance="a"}', samples), [
    "tallystick_entries_total{workspace}",
  ])
  assert.throws(() => rulesIn("groups:\n  - name: tallystick\n"), /is no line of a rule/)
})

/**
 * The rules of a file with their labels and annotations. Parses only the YAML that the file uses,
 * and throws for the rest.
 */
function rulesIn(text: string): readonly Readonly<Record<string, string>>[] {
  const rules: Record<string, string>[] = []
  const [head = "", ...lines] = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
  assert.equal(
    [head, ...lines.splice(0, 2)].join("\n"),
    'groups:\n  - name: "tallystick"\n    rules:',
    "it is no line of a rule",
  )
  for (const line of lines) {
    const [, dash, name = "", double, single] =
      /^(?: {6}(- )| {8}| {10})(\w+):(?: ("(?:[^"\\]|\\.)*")| '((?:[^']|'')*)')?$/.exec(line) ??
      assert.fail(`${line} is no line of a rule`)
    if (dash !== undefined) rules.push({})
    const value =
      double === undefined ? single?.replaceAll("''", "'") : (JSON.parse(double) as string)
    // A line without a value is the title of the deeper ones that follow.
    if (value === undefined) assert.match(name, /^(labels|annotations)$/)
    else (rules.at(-1) ?? assert.fail("a rule begins with a dash"))[name] = value
  }
  return rules
}
