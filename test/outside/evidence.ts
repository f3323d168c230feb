import assert from "node:assert/strict"
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { MintedReceipt } from "../chain.ts"
import { startProgram } from "../crash/programs.ts"
import { tallystick } from "../program.ts"
import {
  eventFor,
  logKeyOf,
  makeWorkspace,
  settingsOf,
  type Client,
  type Service,
  type Workspace,
} from "../service.ts"

// One of every kind of evidence, for verifiers that are not ours: with a rotated key, a second
// epoch, and values that programs render differently.

export interface Evidence {
  readonly kind: "receipt" | "page" | "proof" | "pack" | "export"
  /** Below the folder; a folder of its own for an export. */
  readonly path: string
  /** Any one of them is enough. */
  readonly keys: readonly string[]
}

const events: readonly object[] = [
  {},
  {
    actor: { id: "=1+1", type: "user", email: "ada@example.com", name: "Ada", team: "α", level: 3 },
    target: { id: "'=1", type: "invoice" },
  },
  {
    target: { id: "line\r\nfeed", type: "\u2028", name: "a\u2029b", owner: { id: 7 } },
    userVisible: true,
  },
  {
    metadata: {
      amount: 1299.5,
      tiny: 5e-324,
      huge: 1e21,
      zero: -0,
      list: [1, "two", null, true],
      "€": { "\u{1f600}": "\ud83d\ude00" },
    },
  },
  {
    metadata: { 'quote"': 'a "b", c', tab: "\t", plain: "＝1", ssn: "123-45-6789" },
    action: "policy.terms.accept",
  },
  {
    actor: { id: "-2", type: "service", email: "no-at-sign" },
    occurredAt: "2026-01-31t09:30:00.123456789+02:00",
    source: "automation",
  },
]
const headers = {
  "x-service-environment": "production",
  "x-request-id": "req-1",
  "x-trace-id": "trace-1",
}

export async function collectEvidence(folder: string): Promise<readonly Evidence[]> {
  const evidence: Evidence[] = []
  await using first = await startProgram()
  const { data } = first
  const workspace = await makeWorkspace(first, { personalKeys: ["ssn"] })
  const collect = collector(folder, evidence)
  await first.root.patch(`${workspace.path}/projects/core`, { activityLinks: true })
  const open = { id: "open", receipts: "public" }
  assert.equal((await first.root.post(`${workspace.path}/projects`, open)).status, 201)
  const sections = [{ id: "use", title: "Use", body: "We use it." }]
  assert.equal(
    (await first.root.post(`${workspace.path}/published-policy`, { sections })).status,
    201,
  )

  const receipts = await write(workspace)
  const old = await logKeyOf(workspace.reader, workspace.path)
  await collect(first, "before", workspace, receipts, [old])
  assert.equal((await first.root.post(`${workspace.path}/tlog/keys`, {})).status, 201)
  receipts.push(...(await write(workspace)))
  await collect(first, "overlap", workspace, receipts, [
    old,
    await logKeyOf(workspace.reader, workspace.path),
  ])

  // Its end is lost, so it continues in another epoch.
  const copy = `${data}-copy`
  await well(["backup", copy], { TALLYSTICK_DATA: data })
  await write(workspace)
  assert.equal(await first.end(), 0)
  rmSync(data, { recursive: true })
  renameSync(copy, data)
  await well(["resume"], { TALLYSTICK_DATA: data })
  await using second = await startProgram({ data })
  const again = ({ bearer }: Client): Client => second.client(bearer)
  const resumed = { ...workspace, reader: again(workspace.reader), writer: again(workspace.writer) }
  await collect(second, "epoch", resumed, await write(resumed), [
    await logKeyOf(resumed.reader, resumed.path),
  ])
  return evidence
}

async function write({ id, path, writer, reader }: Workspace): Promise<MintedReceipt[]> {
  const receipts: MintedReceipt[] = []
  for (const projectId of ["core", "open"]) {
    for (const event of events) {
      const reply = await writer.write(
        eventFor(id, { projectId, ...event }),
        undefined,
        projectId === "core" ? headers : {},
      )
      assert.equal(reply.status, 202, reply.text)
      receipts.push(reply.json())
    }
  }
  const consent = {
    workspaceId: id,
    subject: { id: "usr_1", email: "ada@example.com" },
    mode: "explicit",
    policyVersion: 1,
    surface: "web",
  }
  const consented = await writer.post("/v1/consents", consent, {
    "idempotency-key": crypto.randomUUID(),
  })
  assert.equal(consented.status, 202, consented.text)
  receipts.push(consented.json().receipt)
  assert.equal((await reader.get(`${path}/receipts/${receipts.at(-1)?.receipt}/proof`)).status, 200)
  return receipts
}

function collector(folder: string, evidence: Evidence[]) {
  return async (
    service: Service,
    name: string,
    workspace: Workspace,
    receipts: readonly MintedReceipt[],
    keys: readonly string[],
  ) => {
    const { id, path, reader } = workspace
    const put = (kind: Evidence["kind"], file: string, bytes: Uint8Array): void => {
      mkdirSync(dirname(join(folder, name, file)), { recursive: true })
      writeFileSync(join(folder, name, file), bytes)
      evidence.push({ kind, path: join(name, file), keys })
    }
    const get = async (
      client: Client,
      kind: Evidence["kind"],
      file: string,
      address: string,
    ): Promise<void> => {
      const reply = await client.get(`${path}/${address}`)
      assert.equal(reply.status, 200, reply.text)
      put(kind, file, reply.bytes)
    }
    for (const [at, { receipt }] of receipts.entries()) {
      await get(reader, "receipt", `receipts/${at}.json`, `receipts/${receipt}`)
      await get(reader, "proof", `proofs/${at}.tlog-proof`, `receipts/${receipt}/proof`)
    }
    // What anyone may see, of the project whose receipts are public.
    await get(
      service.client(),
      "receipt",
      "receipts/public.json",
      `receipts/${receipts[events.length + 1]?.receipt}`,
    )
    await get(reader, "page", "page.json", "events?include=proof&limit=100")
    await get(reader, "page", "system.json", "events?include=proof&limit=100&projectId=system")
    const link = await reader.post(`${path}/activity/token`, {
      projectId: "core",
      subject: "usr_1",
    })
    await get(service.client(link.json().token), "page", "activity.json", "activity?include=proof")
    const receiptIds = receipts.map(({ receipt }) => receipt)
    const pack = await reader.post(`${path}/evidence-packs`, { title: "All of it", receiptIds })
    assert.equal(pack.status, 201, pack.text)
    await get(reader, "pack", "pack.zip", `evidence-packs/${pack.json().packId}/download`)
    await well(["export", id, join(folder, name, "export")], settingsOf(service))
    evidence.push({ kind: "export", path: join(name, "export"), keys })
  }
}

async function well(...asked: Parameters<typeof tallystick>): Promise<void> {
  const { code, output, errors } = await tallystick(...asked)
  assert.equal(code, 0, output + errors)
}
