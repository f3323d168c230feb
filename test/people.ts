// People in tests: set up by the greeting's token or an invitation, and signed in as a browser is.

import { eventually, type Client, type Reply, type Service } from "./service.ts"

export interface Person extends Client {
  readonly id: string
  readonly email: string
  readonly password: string
  /** As a browser sends it back. */
  readonly cookie: string
}

export const goodPassword = "correct horse battery staple"

/** Finds a set-up token in a text. */
export function setupToken(text: string): string {
  return /\btsx_\w+/.exec(text)?.[0] ?? ""
}

/** The token that the service's greeting shows. */
export function firstToken(service: Service): Promise<string> {
  return eventually(
    "the greeting to be said",
    async () => setupToken(service.output()) || undefined,
  )
}

/** Sets up the first member, who administers the instance. */
export async function setUpFirst(
  service: Service,
  email = "first@example.com",
  password = goodPassword,
): Promise<Person> {
  const token = await firstToken(service)
  return personOf(
    service.client(),
    await service.client().post("/v1/setup", { token, email, password }),
    email,
    password,
  )
}

/** Invites somebody to a workspace, and takes the invitation up for them. */
export async function join(
  service: Service,
  workspacePath: string,
  role: string,
  email: string,
  password = goodPassword,
): Promise<Person> {
  const invited = await service.root.post(`${workspacePath}/members`, { email, role })
  if (invited.status !== 201)
    throw new Error(`nobody was invited: ${invited.status} ${invited.text}`)
  const reply = await service
    .client()
    .post("/v1/setup", { token: setupToken(invited.text), password })
  return personOf(service.client(), reply, email, password)
}

export async function signIn(
  service: Service,
  email: string,
  password = goodPassword,
): Promise<Person> {
  return personOf(
    service.client(),
    await service.client().post("/v1/session", { email, password }),
    email,
    password,
  )
}

function personOf(client: Client, reply: Reply, email: string, password: string): Person {
  if (reply.status !== 200) throw new Error(`nobody is signed in: ${reply.status} ${reply.text}`)
  const cookie = cookieOf(reply)
  return { ...browserOf(client, cookie), id: reply.json().member.id, email, password, cookie }
}

/** What a browser keeps of an answer. */
export function cookieOf(reply: Reply): string {
  return reply.headers.get("set-cookie")?.split(";", 1)[0] ?? ""
}

/** A client that sends a cookie, as a page of the service's own does. */
export function browserOf(client: Client, cookie: string): Client {
  const ask: Client["ask"] = (method, path, { headers, ...rest } = {}) =>
    client.ask(method, path, {
      ...rest,
      headers: { cookie, "sec-fetch-site": "same-origin", ...headers },
    })
  return {
    bearer: undefined,
    ask,
    get: (path, headers) => ask("GET", path, headers && { headers }),
    post: (path, body, headers) => ask("POST", path, { body, ...(headers && { headers }) }),
    patch: (path, body, headers) => ask("PATCH", path, { body, ...(headers && { headers }) }),
    delete: (path, headers) => ask("DELETE", path, headers && { headers }),
    write: (event, key = crypto.randomUUID(), headers = {}) =>
      ask("POST", "/v1/events", { body: event, headers: { "idempotency-key": key, ...headers } }),
  }
}
