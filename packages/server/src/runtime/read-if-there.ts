import { readFileSync } from "node:fs"

/**
 * Undefined if there is no such file. Throws if it cannot be read or looked up, for which
 * `existsSync` would say that it is not there.
 */
export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  }
}
