// Lets one program at a time use a data folder. The operating system releases the lock when the
// process ends, even if it crashes.

import { chownSync, existsSync, statSync } from "node:fs"
import { join } from "node:path"
import { sqliteCodeOf, StartError } from "../../error.ts"
import { busy, openFile, requireWritable } from "./database.ts"

/** Until the result is disposed of, no other program gets the folder. */
export function lockFolder(folder: string): Disposable {
  const path = join(folder, "lock")
  requireWritable(path)
  const lock = openFile(path)
  try {
    lock.exec(
      "PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS held (by TEXT);",
    )
  } catch (cause) {
    lock.close()
    if (sqliteCodeOf(cause) !== busy) throw cause
    throw new StartError(
      `another tallystick is using the data folder ${folder}; stop it first, or give this one a folder of its own`,
      { cause },
    )
  }
  // The service of a folder must be able to lock it after a command that root ran.
  const { uid, gid } = statSync(folder)
  if (process.getuid?.() === 0 && statSync(path).uid !== uid) chownSync(path, uid, gid)
  return lock
}

/**
 * For a command that changes the data. Root may do so in any folder, but the service could not use
 * the files that root makes there.
 */
export function lockForChange(folder: string): Disposable {
  const { uid } = statSync(join(folder, "journal.db"))
  if (process.getuid?.() === 0 && uid !== 0)
    throw new StartError(
      `the data in ${folder} belongs to account ${uid}: run this as that account (sudo -u '#${uid}' …), because its service could not use files of root`,
    )
  return lockFolder(folder)
}

/** Only reads, so other programs can take the lock meanwhile. */
export function isLocked(folder: string): boolean {
  const path = join(folder, "lock")
  if (!existsSync(path)) return false
  using lock = openFile(path, { readOnly: true, timeout: 0 })
  try {
    lock.prepare("SELECT count(*) FROM sqlite_schema").get()
    return false
  } catch (cause) {
    if (sqliteCodeOf(cause) !== busy) throw cause
    return true
  }
}
