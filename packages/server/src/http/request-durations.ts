// A Prometheus histogram of request times, by route, method and status. It counts in plain arrays,
// because the library's histogram looks up its series at every observation, that is, at every
// request.

export interface Durations {
  readonly observe: (route: string, method: string, status: number, durationMs: number) => void
  readonly text: () => string
}

interface Series {
  readonly labels: string
  /** Counts by bucket, not cumulative. The last one counts times above all buckets. */
  readonly counts: number[]
  sum: number
}

export function createDurations(
  name: string,
  help: string,
  bucketsSeconds: readonly number[],
): Durations {
  const all: Series[] = []
  const byRoute = new Map<string, Map<string, Series[]>>()

  function seriesOf(route: string, method: string, status: number): Series {
    let byMethod = byRoute.get(route)
    if (byMethod === undefined) byRoute.set(route, (byMethod = new Map<string, Series[]>()))
    let byStatus = byMethod.get(method)
    if (byStatus === undefined) byMethod.set(method, (byStatus = []))
    const known = byStatus[status]
    if (known !== undefined) return known
    const labels = `route="${escaped(route)}",method="${escaped(method)}",status="${status}"`
    const series = {
      labels,
      counts: Array.from({ length: bucketsSeconds.length + 1 }, () => 0),
      sum: 0,
    }
    byStatus[status] = series
    all.push(series)
    return series
  }

  return {
    observe(route, method, status, durationMs) {
      const series = seriesOf(route, method, status)
      const seconds = durationMs / 1000
      let bucket = 0
      while (bucket < bucketsSeconds.length && seconds > (bucketsSeconds[bucket] ?? Infinity))
        bucket++
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.sum += seconds
    },
    text: () =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...all.flatMap(linesOf), ""].join(
        "\n",
      ),
  }

  function linesOf({ labels, counts, sum }: Series): string[] {
    let count = 0
    const lines = counts.map((some, place) => {
      count += some
      return `${name}_bucket{le="${bucketsSeconds[place] ?? "+Inf"}",${labels}} ${count}`
    })
    return [...lines, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${count}`]
  }
}

function escaped(value: string): string {
  return value.replaceAll(/[\\"\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`))
}
