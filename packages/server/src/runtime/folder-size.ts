// The sizes of a folder's files, and the free space on its disk.

import { existsSync } from "node:fs"
import { readdir, stat, statfs } from "node:fs/promises"
import { join } from "node:path"

export interface FileSize {
  readonly name: string
  readonly bytes: number
}

/**
 * The files of a folder, by name. Empty if there is no folder. A file that is deleted meanwhile is
 * left out.
 */
export async function filesIn(folder: string): Promise<readonly FileSize[]> {
  if (!existsSync(folder)) return []
  const sizes = await Promise.all(
    (await readdir(folder)).toSorted().map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined)
      return found?.isFile() === true ? [{ name, bytes: found.size }] : []
    }),
  )
  return sizes.flat()
}

/** Free space for the user of this process. */
export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
