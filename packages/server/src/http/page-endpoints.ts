// The pages for people. Each is a frame that loads a script, and the script calls the API. For
// browsers without scripts, the server renders a receipt that anyone may see.

import type { ReceiptAnswer } from "@tallystick/client/wire"
import { LedgerError } from "../error.ts"
import type { Access } from "../workspace/permissions.ts"
import type { BuiltPages } from "./built-pages.ts"
import {
  placeOf,
  type Answer,
  type Call,
  type Endpoint,
  type Handled,
  type RouteName,
} from "./endpoint.ts"
import type { Html } from "./html.ts"
import { framed, framePolicy } from "./page-frame.ts"
import { receiptContent } from "./receipt-content.ts"
import type { Caller, Service } from "./service.ts"
import { checkOf } from "./shapes/check.ts"
import { paramsOf, type ParamsOf } from "./shapes/path.ts"
import { Type } from "./shapes/type.ts"
import { receiptAnswer } from "./v1/receipt-endpoints.ts"

const open = { action: "open", anonymous: true, unmetered: true } as const
const text = Type.String()
const answers = { 200: text, 304: null }
/** The script reads its address by itself. Others add parameters to links that are sent to people. */
const anyQuery = Type.Object({}, { additionalProperties: true })

type DrawFrame = (name: string, title: string, depth: number, content?: Html) => Promise<Answer>

/** Pages are not part of the API, so its description does not mention them. */
export function pageEndpoints(
  service: Service,
  built: BuiltPages,
): readonly Endpoint<Access, Caller>[] {
  const frame: DrawFrame = async (name, title, depth, content) => {
    const [files, theme] = await Promise.all([built.page(name), built.page("theme")])
    return pageAnswer(framed({ title, depth, files, theme: theme.script, content }))
  }
  return [
    ...fileEndpoints(built),
    page({
      route: "GET /verify",
      handle: () => frame("verify", "Verify evidence · Tallystick", 0),
    }),
    ...dashboard(frame),
    page({
      route: "GET /a/{workspaceId}",
      handle: () => frame("activity", "Your activity", 1),
    }),
    page({
      route: "GET /e/{workspaceId}/{packId}",
      handle: () => frame("pack", "Evidence pack · Tallystick", 2),
    }),
    page({
      route: "GET /p/{workspaceId}/{version}",
      handle: () => frame("policy", "Policy · Tallystick", 2),
    }),
    page({
      route: "GET /r/{workspaceId}/{receiptId}",
      access: ofReceipt,
      handle: async (call) =>
        frame("receipt", "Receipt · Tallystick", 2, await receiptFor(service, call)),
    }),
  ]
}

const dashboardRoutes = [
  "GET /ui",
  "GET /ui/{page}",
  "GET /ui/{page}/{thing}",
  "GET /ui/{page}/{type}/{thing}",
] as const

/** The script chooses the page from the path. The server knows only the depth of the path. */
function dashboard(frame: DrawFrame): readonly Endpoint<Access, Caller>[] {
  return dashboardRoutes.map((route, depth) =>
    page({ route, handle: () => frame("dashboard", "Tallystick", depth) }),
  )
}

function fileEndpoints(built: BuiltPages): readonly Endpoint<Access, Caller>[] {
  return [
    page({
      route: "GET /assets/{file}",
      // The element loads its parts from here, from pages of other sites.
      cors: true,
      handle: ({ params: { file }, incoming }) =>
        built.file(`assets/${file}`, incoming.headers, "public, max-age=31536000, immutable"),
    }),
    page({
      route: "GET /tallystick-activity.js",
      cors: true,
      handle: ({ incoming }) => built.file("tallystick-activity.js", incoming.headers, "no-cache"),
    }),
    page({
      route: "GET /verify.html",
      handle: async ({ incoming }) => {
        const { headers, ...answer } = await built.file("verify.html", incoming.headers, "no-cache")
        return { ...answer, headers: { ...headers, "content-security-policy": unframed } }
      },
    }),
  ]
}

/** The file contains its own policy, but browsers ignore this directive there. */
const unframed = "frame-ancestors 'none'"

/** Its handler decides what the caller may see, like that of the receipt itself. */
const ofReceipt = { action: "read", anonymous: true, foreignAsNone: true } as const

/** Its script reads the parameters, and the API refuses malformed ones. */
function page<const Route extends RouteName>({
  route,
  access = open,
  ...value
}: Pick<Handled<Access, Caller, ParamsOf<Route>, typeof anyQuery>, "cors" | "handle"> & {
  readonly route: Route
  readonly access?: Access
}): Endpoint<Access, Caller> {
  const params = paramsOf(route, () => text)
  return { ...value, ...placeOf(route), access, params, query: anyQuery, answers }
}

function pageAnswer(html: string): Answer {
  return {
    status: 200,
    body: html,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": framePolicy,
    },
  }
}

const checkParams = checkOf(paramsOf("/r/{workspaceId}/{receiptId}"), "path parameter")

/**
 * Undefined for a receipt that the caller may not see: the link may have a token that only the
 * browser knows. As with every refusal, its time does not tell whether the receipt exists.
 */
async function receiptFor(
  service: Service,
  { caller, params, incoming }: Call<Caller>,
): Promise<Html | undefined> {
  const time = service.clock.sleep(service.limits.refusalMs)
  try {
    const named = checkParams(params)
    const answer = await receiptAnswer(service, caller, named, incoming)
    const { workspaceId, receiptId } = named
    const address = `${service.publicUrl}/v1/workspaces/${workspaceId}/receipts/${receiptId}`
    return receiptContent(JSON.parse(answer) as ReceiptAnswer, address)
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code === "overloaded") throw error
    await time
    return undefined
  }
}
