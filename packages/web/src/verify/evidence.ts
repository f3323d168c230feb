// The files that a reader gives to be checked, and the messages between the page and its worker.

import type { Finding } from "@tallystick/proof"
import type { Members, RecordedContent } from "../parts/recorded-content.ts"

/** A file, or the files of a folder by their paths in it. */
export interface Evidence {
  readonly name: string
  readonly bytes: number
  readonly file?: File
  readonly folder?: readonly (readonly [path: string, file: File])[]
  /** Why it cannot be read. */
  readonly fault?: string
}

export interface Task {
  readonly evidence: Evidence
  readonly trustedKeys: readonly string[]
}

export type Report =
  | { readonly is: "reading"; readonly done: number }
  | { readonly is: "checking"; readonly hashed: number }
  | Done

export interface Done {
  readonly is: "done"
  readonly findings: readonly Finding[]
  readonly packed?: Packed | undefined
  /** For a single receipt or entry that was not refuted. */
  readonly recorded?: RecordedContent | undefined
}

/** The first entries of a genuine pack, from its bodies. */
export interface Packed {
  readonly entries: readonly PackedEntry[]
  readonly total: number
}

export interface PackedEntry {
  readonly sequence: number
  readonly action: string
  readonly lane: string
  /** With the disclosures of the pack. */
  readonly actor: Members
  readonly target: Members
  readonly occurredAt: string
}

export function evidenceOfFile(file: File): Evidence {
  return { name: file.name, bytes: file.size, file }
}

/** Files that a person chose as a folder. The path of each begins with the folder. */
export function evidenceOfFolder(files: readonly File[]): Evidence {
  const [name = "folder"] = files[0]?.webkitRelativePath.split("/") ?? []
  const folder = files.map(
    (file) => [file.webkitRelativePath.slice(name.length + 1), file] as const,
  )
  return folderOf(name, folder)
}

function folderOf(
  name: string,
  folder: readonly (readonly [path: string, file: File])[],
): Evidence {
  return { name: `${name}/`, bytes: folder.reduce((sum, [, { size }]) => sum + size, 0), folder }
}

/** The dropped files, and folders with all files below them. */
export async function evidenceIn(dropped: DataTransfer): Promise<readonly Evidence[]> {
  // Entries exist only until the event ends, so all are taken before the first is read.
  const entries = [...dropped.items]
    .filter(({ kind }) => kind === "file")
    .map((item) => item.webkitGetAsEntry())
  const files = [...dropped.files]
  const found = await Promise.all(
    entries.map(async (entry, at) => {
      if (entry?.isDirectory === true) return folderIn(entry)
      const file = files[at]
      return file === undefined ? undefined : evidenceOfFile(file)
    }),
  )
  return found.filter((one) => one !== undefined)
}

async function folderIn(entry: FileSystemEntry): Promise<Evidence> {
  try {
    return folderOf(entry.name, await filesBelow(entry, ""))
  } catch {
    return { name: `${entry.name}/`, bytes: 0, fault: "a file or folder in it could not be read" }
  }
}

async function filesBelow(
  entry: FileSystemEntry,
  path: string,
): Promise<readonly (readonly [string, File])[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject))
    return [[path, file]]
  }
  if (!isFolder(entry)) return []
  const children = await childrenOf(entry.createReader())
  const below = await Promise.all(
    children.map((child) => filesBelow(child, path === "" ? child.name : `${path}/${child.name}`)),
  )
  return below.flat()
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}

/** A reader gives a hundred at a time, and none when there are no more. */
async function childrenOf(reader: FileSystemDirectoryReader): Promise<readonly FileSystemEntry[]> {
  const children: FileSystemEntry[] = []
  for (;;) {
    const next = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (next.length === 0) return children
    children.push(...next)
  }
}
