import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { dirname } from "node:path"

/**
 * Whether this folder is there, after `make` has filled it if it was not; false from `make` says that
 * it could not. The folder appears whole or not at all, and of two runs that make it at once one wins.
 */
export function madeOnce(folder: string, make: (making: string) => boolean | void): boolean {
  if (existsSync(folder)) return true
  mkdirSync(dirname(folder), { recursive: true })
  const making = mkdtempSync(`${folder}-`)
  try {
    if (make(making) !== false) renameSync(making, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return existsSync(folder)
}
