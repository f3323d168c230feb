import { labelsOf, type Instruments } from "./instruments.ts"

const boundsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Observe = (seconds: number) => void

/** Measures requests by route, method and status, without making a text of them for each request. */
export function createDurations({ histogramBy }: Instruments) {
  const begin = histogramBy("tallystick_request_duration_seconds", boundsSeconds)
  const byRoute = new Map<string, Map<string, Observe[]>>()

  function seriesOf(route: string, method: string, status: number): Observe {
    let byMethod = byRoute.get(route)
    if (byMethod === undefined) byRoute.set(route, (byMethod = new Map<string, Observe[]>()))
    let byStatus = byMethod.get(method)
    if (byStatus === undefined) byMethod.set(method, (byStatus = []))
    return (byStatus[status] ??= begin(labelsOf({ route, method, status: String(status) })))
  }

  return (route: string, method: string, status: number, durationMs: number): void =>
    seriesOf(route, method, status)(durationMs / 1000)
}
