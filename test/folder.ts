import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A new folder for `await using`, which removes it at the end of the block. */
export function makeFolder(): ReturnType<typeof mkdtempDisposable> {
  return mkdtempDisposable(join(tmpdir(), "tallystick-"))
}
