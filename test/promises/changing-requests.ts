import { eventFor, make, type Ask, type Client, type Service, type Workspace } from "../service.ts"
import { goodPassword, setUpFirst, type Person } from "../people.ts"

// Every valid request that would change something: a read-only ledger refuses each of them.

/** Existing things to change. */
export interface Changeable {
  readonly workspace: Workspace
  readonly person: Person
  /** By the names that the description's paths have for them. */
  readonly ids: Readonly<Record<string, string>>
}

export async function makeChangeable(service: Service, workspace: Workspace): Promise<Changeable> {
  const { path, id } = workspace
  const person = await setUpFirst(service)
  const made = (at: string, body: object) => make(service.root, `${path}/${at}`, body)
  const { receipt: receiptId } = (await workspace.writer.write(eventFor(id))).json()
  await made("published-policy", { sections: [{ id: "a", title: "A", body: "Text" }] })
  const { keyId } = await made("api-keys", { name: "one more", scopes: ["read"] })
  const { tokenId } = await made(`receipts/${receiptId}/token`, {})
  const { packId } = await made("evidence-packs", { title: "Audit", receiptIds: [receiptId] })
  const { member } = await made("members", { email: "ada@example.com", role: "viewer" })
  const { holdId } = await made("holds", { name: "Case 7", reason: "a lawsuit", subject: nobody })
  await service.root.patch(`${path}/projects/core`, { activityLinks: true })
  return {
    workspace,
    person,
    ids: {
      workspaceId: id,
      projectId: "core",
      receiptId,
      keyId,
      tokenId,
      packId,
      memberId: member.id,
      holdId,
    },
  }
}

const nobody = { id: "usr_of_nobody" }

export interface ChangingRequest {
  /** As the description names it. */
  readonly operation: string
  readonly ask: () => ReturnType<Client["ask"]>
}

/**
 * One request for each operation that the description says can be refused as read-only. Fails if
 * one is missing here.
 */
export async function changingRequests(
  service: Service,
  changeable: Changeable,
): Promise<readonly ChangingRequest[]> {
  const reply = await service.client().get("/openapi.json")
  if (reply.status !== 200)
    throw new Error(`there is no description: ${reply.status} ${reply.text}`)
  const { paths } = reply.json<{ paths: Record<string, Record<string, object>> }>()
  const bodies = bodiesFor(changeable)
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([method, described]) =>
          !asking.has(`${method.toUpperCase()} ${path}`) &&
          (method !== "get" || JSON.stringify(described).includes("read_only")),
      )
      .map(([method, _]) => {
        const operation = `${method.toUpperCase()} ${path}`
        const body = bodies[operation]
        if (body === undefined)
          throw new Error(`${operation} changes something, and it is not known how`)
        const filled = path.replaceAll(
          /\{(\w+)\}/g,
          (_name, name: string) => changeable.ids[name] ?? "",
        )
        const query = queries[operation] ?? ""
        const client = path.startsWith("/v1/session") ? changeable.person : service.root
        return {
          operation,
          ask: () =>
            browserAt(service, client).ask(method.toUpperCase(), `${filled}${query}`, body),
        }
      }),
  )
}

/** These count, and change nothing: a read-only service answers them. */
const asking = new Set(["POST /v1/workspaces/{workspaceId}/retention/preview"])

/** The parameters that an operation requires. */
const queries: Readonly<Record<string, string>> = {
  "GET /v1/workspaces/{workspaceId}/consents": "?subject=usr_1",
}

/** A session stays valid wherever the data is served next. */
function browserAt(service: Service, client: Client | Person): Client {
  if (!("cookie" in client)) return client
  const headers = { cookie: client.cookie, "sec-fetch-site": "same-origin" }
  const plain = service.client()
  return {
    ...plain,
    ask: (method, path, ask) =>
      plain.ask(method, path, { ...ask, headers: { ...headers, ...ask?.headers } }),
  }
}

function bodiesFor({ workspace: { id }, person }: Changeable): Readonly<Record<string, Ask>> {
  const ofWorkspace = "/v1/workspaces/{workspaceId}"
  const keyed = { "idempotency-key": "a-key-that-nobody-used" }
  return {
    "POST /v1/events": { body: eventFor(id), headers: keyed },
    "POST /v1/events/batch": {
      body: { events: [{ idempotencyKey: "another-key-of-nobody", ...eventFor(id) }] },
    },
    "POST /v1/consents": {
      body: {
        workspaceId: id,
        subject: { id: "usr_1", email: "ada@example.com" },
        mode: "explicit",
        policyVersion: 1,
        surface: "sign-up",
      },
      headers: keyed,
    },
    "POST /v1/consents/withdrawals": {
      body: { workspaceId: id, subject: { id: "usr_1" }, surface: "account settings" },
      headers: keyed,
    },
    "POST /v1/workspaces": { body: { id: "another" } },
    [`PATCH ${ofWorkspace}`]: { body: { hotDays: 1 } },
    [`POST ${ofWorkspace}/projects`]: { body: { id: "another" } },
    [`PATCH ${ofWorkspace}/projects/{projectId}`]: { body: { receipts: "public" } },
    [`POST ${ofWorkspace}/published-policy`]: {
      body: { sections: [{ id: "b", title: "B", body: "Text" }] },
    },
    [`POST ${ofWorkspace}/api-keys`]: { body: { name: "another", scopes: ["read"] } },
    [`DELETE ${ofWorkspace}/api-keys/{keyId}`]: {},
    [`POST ${ofWorkspace}/evidence-packs`]: { body: { title: "Another", filter: {} } },
    [`POST ${ofWorkspace}/consents/lookup`]: { body: { subject: "usr_1", reason: "a request" } },
    [`GET ${ofWorkspace}/consents`]: {},
    [`GET ${ofWorkspace}/events/export`]: {},
    [`POST ${ofWorkspace}/exports`]: { body: { entries: 1 } },
    [`GET ${ofWorkspace}/evidence-packs/{packId}/download`]: {},
    [`POST ${ofWorkspace}/receipts/{receiptId}/token`]: { body: {} },
    [`POST ${ofWorkspace}/published-policy/token`]: { body: {} },
    [`POST ${ofWorkspace}/evidence-packs/{packId}/token`]: { body: {} },
    [`POST ${ofWorkspace}/activity/token`]: { body: { projectId: "core", subject: "usr_1" } },
    [`POST ${ofWorkspace}/erasures`]: { body: { subject: nobody, reason: "a request" } },
    [`POST ${ofWorkspace}/holds`]: {
      body: { name: "Case 8", reason: "a lawsuit", subject: nobody },
    },
    [`DELETE ${ofWorkspace}/holds/{holdId}`]: { body: { reason: "it is over" } },
    [`POST ${ofWorkspace}/retention/run`]: { body: {} },
    [`DELETE ${ofWorkspace}/tokens/{tokenId}`]: {},
    [`POST ${ofWorkspace}/tlog/keys`]: {},
    [`POST ${ofWorkspace}/members`]: { body: { email: "bob@example.com", role: "viewer" } },
    [`POST ${ofWorkspace}/members/{memberId}`]: { body: { role: "viewer" } },
    [`PATCH ${ofWorkspace}/members/{memberId}`]: { body: { role: "admin" } },
    [`DELETE ${ofWorkspace}/members/{memberId}`]: {},
    [`POST ${ofWorkspace}/members/{memberId}/setup`]: { body: {} },
    "POST /v1/setup": { body: { token: "a token of nobody", password: goodPassword } },
    "POST /v1/session": { body: { email: person.email, password: person.password } },
    "DELETE /v1/session": {},
    "POST /v1/session/password": { body: { old: person.password, new: `${goodPassword} again` } },
  }
}
