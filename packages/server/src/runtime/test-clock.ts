// A test aid: a clock that moves only on request, and then ends the sleeps that are over.

import type { Clock } from "../clock.ts"

export class TestClock implements Clock {
  ms = 0
  sleepers: { readonly untilMs: number; readonly wake: () => void }[] = []
  now(): number {
    return 1_800_000_000_000 + this.ms
  }
  elapsed(): number {
    return this.ms
  }
  sleep(delayMs: number): Promise<void> {
    return new Promise((wake) => this.sleepers.push({ untilMs: this.ms + delayMs, wake }))
  }
  advance(byMs: number): void {
    this.ms += byMs
    for (const { untilMs, wake } of this.sleepers) if (untilMs <= this.ms) wake()
    this.sleepers = this.sleepers.filter(({ untilMs }) => untilMs > this.ms)
  }
}
