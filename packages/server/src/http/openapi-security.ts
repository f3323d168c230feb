// The security requirements in the API's description.

import type { Action } from "../workspace/permissions.ts"
import type { ServiceEndpoint } from "./service.ts"

export const securitySchemes = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key (`tsk_…`) with the named scope, or the instance key, which may do everything. Where `instance` is named, only the instance key is accepted.",
  },
  scopedToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A token of the named type: `receipt` (`tsr_…`), `policy` (`tsp_…`), `activity` (`tsa_…`) or `evidence` (`tse_…`).",
  },
  tokenParameter: {
    type: "apiKey",
    in: "query",
    name: "token",
    description:
      "A scoped token of the named type. Use it only where a browser cannot send it as a bearer token.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-ts",
    description:
      "A signed-in member who has the named role in the workspace. For a change, Sec-Fetch-Site or Origin must show that the request comes from the service's own pages. If the public address is plain HTTP on another machine, the cookie is called `ts`.",
  },
} as const

/** One way to call: a scheme and what it must be. */
type Way = Readonly<Partial<Record<keyof typeof securitySchemes, readonly string[]>>>

/**
 * Any one of these is enough. The empty one is an anonymous caller, who may see public resources.
 */
export function securityOf({ access }: Pick<ServiceEndpoint, "access">): readonly Way[] {
  const {
    action,
    anonymous,
    queryToken,
    tokens = queryToken === undefined ? [] : [queryToken],
  } = access
  return [
    ...waysOf[action],
    ...tokens.map((type) => ({ scopedToken: [type] })),
    ...(queryToken === undefined ? [] : [{ tokenParameter: [queryToken] }]),
    ...(anonymous === true ? [{}] : []),
  ]
}

const waysOf: Readonly<Record<Action, readonly Way[]>> = {
  write: [{ apiKey: ["write"] }],
  read: [
    { apiKey: ["read"] },
    { apiKey: ["admin"] },
    { session: ["viewer"] },
    { session: ["admin"] },
  ],
  administer: [{ apiKey: ["admin"] }, { session: ["admin"] }],
  preside: [{ apiKey: ["instance"] }, { session: ["instance"] }],
  redeem: [],
  account: [{ session: [] }],
  open: [],
}
