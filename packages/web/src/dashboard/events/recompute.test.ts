import assert from "node:assert/strict"
import test from "node:test"
import { genuineEntry } from "../../../../../test/shown-entry.ts"

/** A worker whose program cannot be loaded. */
class DeadWorker {
  onerror = (): void => {}
  postMessage(): void {
    setImmediate(() => this.onerror())
    // A browser says so once.
    this.postMessage = () => {}
  }
}
Object.assign(globalThis, { addEventListener: () => {}, Worker: DeadWorker })
const { startRecomputer } = await import("./recompute.ts")

test(
  "without its worker no entry counts as recomputed, however often it is asked",
  { timeout: 5000 },
  async () => {
    let failed = 0
    const recomputer = startRecomputer(() => failed++)
    const unproven = [{ state: "unproven" }]
    assert.deepEqual(await recomputer.recompute([genuineEntry]), unproven)
    assert.deepEqual(await recomputer.recompute([genuineEntry]), unproven)
    assert.equal(failed, 1)
  },
)
