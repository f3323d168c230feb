// What a check of `tallystick doctor` says, and how one runs.

import { detailOf } from "../error.ts"

export interface Verdict {
  readonly state: "ok" | "warn" | "bad"
  readonly found: string
  readonly advice?: string
}

export interface CheckResult extends Verdict {
  readonly name: string
}

/** Runs a check, which may consist of others. A check that throws is bad; the others still run. */
export async function check(
  name: string,
  act: () => Verdict | readonly CheckResult[] | Promise<Verdict | readonly CheckResult[]>,
): Promise<readonly CheckResult[]> {
  try {
    const found = await act()
    return "state" in found ? [{ name, ...found }] : found
  } catch (error) {
    return [{ name, ...bad(detailOf(error), "check the file, its owner, and its disk") }]
  }
}

export const ok = (found: string): Verdict => ({ state: "ok", found })
export const warn = (found: string, advice: string): Verdict => ({ state: "warn", found, advice })
export const bad = (found: string, advice: string): Verdict => ({ state: "bad", found, advice })

export const archiveAdvice =
  "correct that, or TALLYSTICK_ARCHIVE: old entries are neither archived nor read"
