import type { Chance } from "../chance.ts"
import type { Write } from "./writes.ts"

// Two ways to repeat a key: with the same request in another form, and with a different one that
// looks almost the same.

type Body = Write["body"]

/** The same request in another form: members in another order, defaults given or absent. */
export function sameBody({ route, body }: Write, chance: Chance): Body {
  const { metadata, userVisible, projectId, ...rest } = body
  const spoken = {
    ...rest,
    ...(isEmpty(metadata)
      ? chance.percent(50) && { metadata: {} }
      : { metadata: turned(metadata, chance) }),
    ...(route === "/v1/events" &&
      (userVisible === true ? { userVisible } : chance.percent(50) && { userVisible: false })),
    ...(route === "/v1/events" ? { projectId } : chance.percent(50) && { projectId: "core" }),
  }
  return turned(spoken, chance) as Body
}

export const fieldsOfEvent = [
  "projectId",
  "action",
  "actor",
  "target",
  "occurredAt",
  "source",
  "metadata",
  "userVisible",
] as const

/** Says something else, in one field only. */
export function anotherBody(
  { route, body }: Write,
  chance: Chance,
  field?: (typeof fieldsOfEvent)[number],
): Body {
  if (route === "/v1/consents") return chance.pick(otherConsents)(body)
  return otherEvents[field ?? chance.pick(fieldsOfEvent)](body, chance)
}

const otherEvents: Readonly<
  Record<(typeof fieldsOfEvent)[number], (body: Body, chance: Chance) => Body>
> = {
  projectId: (body) => ({ ...body, projectId: body["projectId"] === "core" ? "billing" : "core" }),
  action: (body) => ({ ...body, action: `${String(body["action"])}.twice` }),
  actor: (body, chance) => ({ ...body, actor: otherParty(body["actor"] as Body, chance) }),
  target: (body, chance) => ({ ...body, target: otherParty(body["target"] as Body, chance) }),
  // The same moment in another notation makes other bytes.
  occurredAt: (body) => ({ ...body, occurredAt: String(body["occurredAt"]).replace("Z", ".000Z") }),
  source: (body) => ({ ...body, source: "automation" }),
  metadata: (body, chance) => ({
    ...body,
    metadata: chance.pick(otherMetadata)((body["metadata"] ?? {}) as Body),
  }),
  userVisible: (body) => ({ ...body, userVisible: body["userVisible"] !== true }),
}

const otherMetadata: readonly ((metadata: Body) => Body)[] = [
  (metadata) => ({ ...metadata, note: "" }),
  (metadata) => ({ ...metadata, note: null }),
  (metadata) => ({ ...metadata, amount: `${String(metadata["amount"])}` }),
  (metadata) => ({ ...metadata, list: [true, null, "…"] }),
]

function otherParty(party: Body, chance: Chance): Body {
  return chance.pick([
    { ...party, id: `${String(party["id"])}0` },
    { ...party, type: "robot" },
    { ...party, email: `0${String(party["email"])}` },
    { ...party, name: ` ${String(party["name"])}` },
    { ...party, other: { said: "so" } },
    { ...party, department: null },
  ])
}

const otherConsents: readonly ((body: Body) => Body)[] = [
  (body) => ({ ...body, subject: { ...(body["subject"] as Body), id: "usr_other" } }),
  (body) => ({ ...body, subject: { ...(body["subject"] as Body), email: "other@example.com" } }),
  (body) => ({ ...body, mode: "implicit" }),
  (body) => ({ ...body, policyVersion: Number(body["policyVersion"]) + 1 }),
  (body) => ({ ...body, surface: "sign-in" }),
  (body) => ({ ...body, projectId: "billing" }),
  (body) => ({ ...body, metadata: {} }),
]

/** The same value, its objects' members in another order. */
function turned(value: unknown, chance: Chance): unknown {
  if (Array.isArray(value)) return value.map((item) => turned(item, chance))
  if (typeof value !== "object" || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    turned(member, chance),
  ])
  const from = chance.below(members.length + 1)
  return Object.fromEntries([...members.slice(from), ...members.slice(0, from)].toReversed())
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0)
  )
}
