// Segments in a folder. A file appears under its name only once all of it is on the disk.

import { randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { open, readdir, rename, rm, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { detailOf } from "../../error.ts"
import { makeFolder } from "../../runtime/make-folder.ts"
import { ifThere } from "../../runtime/read-if-there.ts"
import { ArchiveFailure, type ArchiveStorage, type StoredFile } from "./archive-storage.ts"

/** The suffix of a file that is being written. A crash may leave such a file behind. */
const unfinished = ".new"

export function openFolderStorage(folder: string): ArchiveStorage {
  const name = `the archive folder ${folder}`
  const makeSyncedFolder = syncedFolders(resolve(folder))
  const attempt = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
    try {
      return await act()
    } catch (cause) {
      if (cause instanceof ArchiveFailure) throw cause
      throw new ArchiveFailure(`${name} ${what}: ${detailOf(cause)}`, { cause })
    }
  }
  /** No `delete` removes a folder. */
  const requireFolder = async (place: string): Promise<void> => {
    if ((await stat(join(folder, place)).catch(ifThere)) === undefined)
      throw new ArchiveFailure(`${name} has no folder ${place}: is its disk mounted?`)
  }
  return {
    name,
    put: (file, bytes, wasPut) =>
      attempt("cannot be written to", async () => {
        const path = join(folder, file)
        if (wasPut === true) await requireFolder(dirname(file))
        await makeSyncedFolder(resolve(dirname(path)))
        // Two servers that share the folder may write the same file at once.
        const fresh = `${path}.${randomBytes(8).toString("hex")}${unfinished}`
        try {
          await writeSynced(fresh, bytes)
          await rename(fresh, path)
        } catch (error) {
          // On a full disk, each failed try would otherwise use more space.
          await rm(fresh, { force: true }).catch(() => undefined)
          throw error
        }
        await syncFolder(dirname(path))
      }),
    get: (file, { start, end }) =>
      attempt("cannot be read", async () => {
        await using handle = await open(join(folder, file)).catch(ifThere)
        if (handle === undefined) return undefined
        const bytes = Buffer.allocUnsafe(end - start)
        for (let at = 0; at < bytes.length;) {
          const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at)
          if (bytesRead === 0)
            throw new ArchiveFailure(`${name} has ${file} only up to byte ${start + at}`)
          at += bytesRead
        }
        return bytes
      }),
    async *list(prefix, wasPut) {
      // A name contains at most one folder.
      const [place, rest] = prefix.split("/")
      const isWithin = place !== undefined && rest !== undefined
      if (wasPut === true && isWithin) await attempt("cannot be read", () => requireFolder(place))
      const paths = () => (isWithin ? pathsOf(folder, place) : pathsIn(folder))
      for (const path of await attempt("cannot be listed", paths)) {
        if (!path.startsWith(prefix)) continue
        const file = await attempt("cannot be listed", () => fileAt(folder, path))
        if (file !== undefined) yield file
      }
    },
    delete: (file) =>
      attempt("cannot be written to", async () => {
        await rm(join(folder, file), { force: true })
        await syncFolder(dirname(join(folder, file))).catch(ifThere)
      }),
    close() {},
  }
}

/** Makes folders within this one. A folder is on the disk once its parent folder is synced. */
function syncedFolders(folder: string): (path: string) => Promise<void> {
  const synced = new Set<string>()
  /** The highest that may not be on the disk: a former attempt may have made it, and failed. */
  let top = folder
  return async (path) => {
    const first = makeFolder(path)
    if (first === undefined && synced.has(path)) return
    if (first !== undefined && first.length < top.length) top = first
    for (let made = path; ; made = dirname(made)) {
      await syncFolder(dirname(made))
      if (made === top || made === dirname(made)) break
    }
    top = folder
    synced.add(path)
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const { O_CREAT, O_TRUNC, O_WRONLY, O_NOFOLLOW } = constants
  await using handle = await open(path, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW, 0o600)
  await handle.writeFile(bytes)
  await handle.sync()
}

async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}

/** Links to files and folders are followed: an operator may move old segments to another disk. */
async function fileAt(folder: string, name: string): Promise<StoredFile | undefined> {
  const found = await stat(join(folder, name)).catch(ifThere)
  return found?.isFile() === true ? { name, bytes: found.size } : undefined
}

async function pathsIn(folder: string): Promise<readonly string[]> {
  const names = await namesIn(folder)
  const inside = await Promise.all(
    names.map(async (name) => {
      const isFolder = (await stat(join(folder, name)).catch(ifThere))?.isDirectory() === true
      return isFolder ? await pathsOf(folder, name) : name
    }),
  )
  return inside.flat()
}

async function pathsOf(folder: string, inside: string): Promise<readonly string[]> {
  return (await namesIn(join(folder, inside))).map((name) => `${inside}/${name}`)
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return ((await readdir(folder).catch(ifThere)) ?? []).toSorted()
}
