import assert from "node:assert/strict"
import type { Service } from "./service.ts"

// What /metrics answers, read as Prometheus reads it.

export type Samples = ReadonlyMap<string, number>

/** One metric of a service, by its name and labels. */
export async function metric({ root }: Pick<Service, "root">, name: string): Promise<number> {
  return sampleOf((await root.get("/metrics")).text, name)
}

export function sampleOf(text: string, name: string): number {
  return samplesOf(text).get(name) ?? assert.fail(`${name} is not counted`)
}

export async function residentMbOf(service: Pick<Service, "root">): Promise<number> {
  return (await metric(service, "process_resident_memory_bytes")) / 2 ** 20
}

/** The samples of the Prometheus text format, by name and labels; throws for an invalid line. */
export function samplesOf(text: string): Samples {
  const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`
  const sample = new RegExp(
    String.raw`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:${label}(?:,${label})*)?\})? (-?[0-9.e+-]+|[+-]Inf|[Nn]a[Nn])$`,
  )
  const typed = new Set<string>()
  const samples = new Map<string, number>()
  assert.ok(text.endsWith("\n"))
  for (const line of text.trimEnd().split("\n")) {
    const [, about, name = ""] = /^# (HELP|TYPE) (\S+) ./.exec(line) ?? []
    if (about === "TYPE") typed.add(name)
    if (line.startsWith("#") || line === "") continue
    const [, metric = "", labels = "", value] = sample.exec(line) ?? []
    assert.ok(metric !== "", `no sample: ${line}`)
    assert.ok(
      typed.has(metric.replace(/_(bucket|sum|count)$/, "")) || typed.has(metric),
      `${metric} has no TYPE`,
    )
    assert.ok(!samples.has(metric + labels), `${metric}${labels} is there twice`)
    samples.set(metric + labels, Number(value))
  }
  return samples
}
