import { Type } from "typebox"
import { createServer } from "./server.ts"
import { endpointsFor, mount } from "./endpoint.ts"
import { openApi } from "./openapi.ts"
import { Event, WriteHeaders } from "./shapes/event.ts"
import { Batch, BatchAnswer, BatchEnvelope, BatchHeaders } from "./shapes/batch.ts"
import { ReceiptId, WorkspaceId } from "./shapes/id.ts"
import { ListQuery } from "./shapes/list.ts"
import { Receipt } from "./shapes/receipt.ts"
import { ReceiptAnswer } from "./shapes/entry.ts"
import { systemClock } from "../clock.ts"
const limits = { uriBytesMax: 8192, headersBytesMax: 16384, headersTimeoutMs: 10_000, bodyTimeoutMs: 30_000, keepAliveTimeoutMs: 65_000, stillTimeoutMs: 60_000, drainTimeoutMs: 8000, depthMax: 32, stringBytesMax: 65536, eventBytesMax: 262144, contextCharactersMax: 512 }
const log = { error: (f: object, m: string) => console.log(m, f) }
const server = createServer({ limits, clock: systemClock, log, listenHost: "127.0.0.1", publicUrl: "http://127.0.0.1:9991" })
const endpoint = endpointsFor<string, { name: string }>()
const receipt = JSON.stringify({ accepted: true, eventId: "evt_" + "0".repeat(36), receipt: "rcp_" + "0".repeat(36), pad: "x".repeat(600) })
let n = 0
const endpoints = [
  endpoint({ method: "POST", path: "/v1/events", summary: "Write an event", access: "write", headers: WriteHeaders, body: Event, answers: { 202: Receipt },
    handle(call) { n++; const s: string = call.body.workspaceId + call.headers["idempotency-key"]; return { status: 202, body: s ? receipt : "" } } }),
  endpoint({ method: "POST", path: "/v1/events/batch", summary: "Write events", access: "write", headers: BatchHeaders, body: BatchEnvelope, documentedBody: Batch, bodyBytesMax: 8 << 20, answers: { 202: BatchAnswer },
    async handle(call) { return { status: 202, body: { n: call.body.events.length } } } }),
  endpoint({ method: "GET", path: "/v1/workspaces/{workspaceId}/receipts/{receiptId}", cors: true, summary: "Verify a receipt", access: "read", params: Type.Object({ workspaceId: WorkspaceId, receiptId: ReceiptId }), query: ListQuery, answers: { 200: ReceiptAnswer },
    handle(call) { const k: number = call.query.limit; return { status: 200, body: { p: call.params.receiptId, k, c: call.context, who: call.caller.name } } } }),
  endpoint({ method: "GET", path: "/v1/workspaces/{workspaceId}/tlog/tile/{tile*}", cors: true, summary: "A tile", access: "read", params: Type.Object({ workspaceId: WorkspaceId, tile: Type.String() }), answerType: "application/octet-stream", answers: { 200: Type.String() },
    handle(call) { return { status: 200, body: Buffer.from(call.params.tile) } } }),
]
mount(server, endpoints, { guard: () => ({ name: "me" }), limits, clock: systemClock, log })
if (process.argv[2] === "api") console.log(JSON.stringify(openApi(endpoints, { info: { title: "x", version: "1" }, anonymous: () => false }), null, 1))
else {
  await server.listen({ port: 9991 })
  let n0 = 0, c0 = process.cpuUsage()
  setTimeout(() => { n0 = n; c0 = process.cpuUsage() }, 1500)
  process.on("SIGTERM", () => { const c = process.cpuUsage(); console.log("ours", n, "requests", ((c.user + c.system - c0.user - c0.system) / (n - n0)).toFixed(1), "us cpu each"); process.exit() })
}
