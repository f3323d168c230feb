import type { TestContext } from "node:test"

// A long run of a suite: round after round, until its count or its minutes are reached. It reports
// how much it tried, because a slow machine tries less in its time.

/**
 * The time of all suites if none completes its count: two files in parallel, then those that run
 * alone.
 */
const allMinutes = 90

export interface LongRun {
  /** What is counted. */
  readonly what: string
  readonly wanted: number
  /** Of the ninety. `npm run test:deep -- --minutes=30` gives a third of it. */
  readonly minutes: number
  /**
   * The count of the slowest known machine in these minutes, a quarter of others. Fewer means that
   * the suite did not work.
   */
  readonly floor: number
}

/**
 * Each round returns how much it tried. A round that would exceed the minutes does not begin; the
 * first always does.
 */
export async function longRun(
  t: TestContext,
  { what, wanted, minutes, floor }: LongRun,
  round: (number: number) => Promise<number>,
): Promise<void> {
  const share = Number(process.env["DEEP_MINUTES"] ?? allMinutes) / allMinutes
  const started = performance.now()
  const elapsed = () => performance.now() - started
  let tried = 0
  let slowestMs = 0
  for (
    let number = 0;
    tried < wanted && (number === 0 || elapsed() + slowestMs < minutes * share * 60_000);
    number++
  ) {
    const began = elapsed()
    const more = await round(number)
    if (!(more > 0)) throw new Error("a round that tries nothing would go on for ever, or pass")
    tried += more
    slowestMs = Math.max(slowestMs, elapsed() - began)
  }
  if (tried < Math.min(wanted, floor * share))
    throw new Error(`${tried} ${what} were tried, and ${Math.ceil(floor * share)} are the least`)
  t.diagnostic(`${tried} of ${wanted} ${what} in ${(elapsed() / 60_000).toFixed(1)} minutes`)
}
