import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventually, make, makeKey, makeWorkspace, writeEvent, type Client } from "../service.ts"
import { expectRows } from "./table.ts"
import { startWatched } from "./watched.ts"

// A list reveals nothing of other items, neither by its cursors nor by its pages.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
const admin = await makeKey(service, acme.id, { scopes: ["admin"] })
const ofMine = await makeKey(service, acme.id, {
  scopes: ["read"],
  projectIds: ["mine-1", "mine-2", "not-made"],
})

const written = async (projectId: string): Promise<string> =>
  (await writeEvent(acme, { projectId })).receipt
const receipts = new Map<string, string>()
for (const project of ["mine-1", "theirs-1", "theirs-2", "mine-2", "theirs-3", "theirs-4"])
  receipts.set(project, await written(project))
for (const packed of [
  ["mine-1"],
  ["theirs-1"],
  ["mine-1", "mine-2"],
  ["mine-2", "theirs-3"],
  ["theirs-4"],
  ["theirs-1"],
  ["theirs-2"],
]) {
  const receiptIds = packed.map((one) => receipts.get(one))
  await make(root, `${acme.path}/evidence-packs`, { title: packed.join(" "), receiptIds })
}

interface Listed {
  readonly items: readonly Record<string, string>[]
  readonly nextCursor: string | null
}

async function pageOf(client: Client, list: string, cursor?: string, limit = 1): Promise<Listed> {
  const reply = await client.get(
    `${list}?limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`,
  )
  assert.equal(reply.status, 200, reply.text)
  const { nextCursor, ...rest } = reply.json()
  const [items] = Object.values(rest) as [Listed["items"]]
  return { items, nextCursor }
}

async function pagesOf(client: Client, list: string): Promise<readonly Listed[]> {
  const pages: Listed[] = []
  for (
    let cursor: string | null | undefined;
    cursor !== null;
    cursor = pages.at(-1)?.nextCursor ?? null
  )
    pages.push(await pageOf(client, list, cursor ?? undefined))
  return pages
}

test("a key of some projects gets full pages of its documents, and cannot count the others", async () => {
  const projects = await pagesOf(ofMine, `${acme.path}/projects`)
  assert.deepEqual(
    projects.map(({ items }) => items.map(({ id }) => id)),
    [["mine-2"], ["mine-1"]],
  )
  const packs = await pagesOf(ofMine, `${acme.path}/evidence-packs`)
  assert.deepEqual(
    packs.map(({ items }) => items.map(({ title }) => title)),
    [["mine-1 mine-2"], ["mine-1"]],
  )
  const { total, events } = (await ofMine.get(`${acme.path}/events`)).json()
  assert.deepEqual([total, events.length], [2, 2])
})

test("a cursor reveals nothing, and works for its own list only", async () => {
  for (const _ of [1, 2, 3]) await makeKey(service, acme.id, { scopes: ["read"] })
  const lists = ["api-keys", "projects", "evidence-packs"].map((name) => `${acme.path}/${name}`)
  const cursors = await Promise.all(
    lists.map(async (list) => (await pageOf(admin, list)).nextCursor ?? ""),
  )
  for (const [at, cursor] of cursors.entries()) {
    assert.match(cursor, /^[\w-]{40,}$/)
    const clear = Buffer.from(cursor, "base64url").toString("latin1")
    // Two digits stand there by chance often enough.
    assert.doesNotMatch(clear, /before|\d{5,}/)
    const again = (await pageOf(admin, lists[at] ?? "")).nextCursor
    assert.notEqual(
      again,
      cursor,
      "two of one place are not the same, so they cannot be put in order",
    )
    const changed = `${cursor.slice(0, 20)}${cursor[20] === "A" ? "B" : "A"}${cursor.slice(21)}`
    const foreign = cursors[(at + 1) % cursors.length] ?? ""
    const elsewhere = (lists[at] ?? "").replace(acme.path, other.path)
    const says = {
      gets: "400 invalid_field",
      has: ["cursor must be the nextCursor of another page of this list"],
    }
    await expectRows([
      ...[changed, foreign, "YmVmb3JlIDk5", "x", cursor.slice(0, -4)].map((bad) => ({
        about: bad,
        as: admin,
        ask: `GET ${lists[at]}?cursor=${bad}`,
        ...says,
      })),
      {
        about: "of another workspace",
        as: root,
        ask: `GET ${elsewhere}?cursor=${cursor}`,
        ...says,
      },
    ])
  }
})

test("the lists of a workspace wait for their turn, like its other reads", async () => {
  await using tight = await startWatched({
    environment: {
      TALLYSTICK_LIMIT_READS_OF_WORKSPACE_MAX: "1",
      TALLYSTICK_LIMIT_READS_WAITING_MAX: "1",
    },
  })
  const { path } = await makeWorkspace(tight)
  const projectIds = Array.from({ length: 1000 }, (_, at) => `project-${at}`)
  const name = { name: "many", scopes: ["read"], projectIds }
  for (let key = 0; key < 10; key++) await make(tight.root, `${path}/api-keys`, name)
  for (const list of ["api-keys", "projects"]) {
    // A list may be read before the next two are asked for: then nobody waits.
    await eventually(`one of many readers of ${list} has to wait`, async () => {
      const replies = await Promise.all(
        Array.from({ length: 50 }, () => tight.root.get(`${path}/${list}`)),
      )
      const refused = replies.filter(({ status }) => status !== 200)
      assert.ok(refused.length < 50, list)
      for (const reply of refused) assert.equal(reply.json().error, "overloaded")
      return refused.length > 0
    })
  }
  await tight.finish()
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
