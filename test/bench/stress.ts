// Under stress: how much is recorded at three times the capacity, how long a refusal takes, and how
// 300 slow clients affect a good one.

import { overload } from "../promises/overload.ts"
import { besideSlowClients } from "../promises/slow-clients.ts"

/** Rows of a table: what was measured, and the result. */
export async function measureStress(
  turns: number,
  seconds: number,
): Promise<readonly (readonly [what: string, value: string])[]> {
  const { peak, share, offered, refused, refusedMs, slowestRecoveryMs } = await overload({
    turns,
    peakSeconds: seconds,
    overSeconds: 2 * seconds,
  })
  const { sockets, quietP99Ms, amongP99Ms } = await besideSlowClients({
    sockets: 300,
    turns,
    requests: 500,
  })
  return [
    ["durable events/s at the peak (batches of 100)", String(peak)],
    ["… of which when three times as much is offered", `${Math.round(share * 100)} %`],
    ["requests refused then", `${refused} of ${offered}`],
    ["a refusal takes (average)", `${refusedMs.toFixed(1)} ms`],
    ["all is as before after", `${slowestRecoveryMs} ms`],
    ["a good client's p99, quiet", `${quietP99Ms} ms`],
    [`a good client's p99, among ${sockets} slow sockets`, `${amongP99Ms} ms`],
  ]
}
