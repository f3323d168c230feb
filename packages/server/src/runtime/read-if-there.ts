import { readFileSync } from "node:fs"
import { codeOf, StartError } from "../error.ts"

/**
 * Undefined if there is no such file. Throws if it cannot be read or looked up, for which
 * `existsSync` would say that it is not there.
 */
export function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    // Node's message of it has no path.
    if (codeOf(error) === "EISDIR")
      throw new StartError(`${path} must be a file, and is a folder`, { cause: error })
    return ifThere(error)
  }
}

/** Undefined for the error that a file or folder does not exist. Throws every other one. */
export function ifThere(error: unknown): undefined {
  if (codeOf(error) === "ENOENT") return undefined
  throw error
}
