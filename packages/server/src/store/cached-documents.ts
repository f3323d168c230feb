// Caches documents that requests read frequently. When this process changes a document, it drops
// the cached one before it answers the append. If other processes write to the data too, an answer
// is cached for the `staleMsMax` of the driver. Documents about destroyed contents are never
// cached: the contents are gone a moment after such a document is recorded.

import { systemClock, type Clock } from "../clock.ts"
import type { DocumentKind, Change, Document } from "./documents.ts"
import type { Registry } from "./store.ts"

/**
 * Beyond this the cache is emptied. It has room for some forty thousand credentials, or sixty of
 * the largest policies.
 */
const bytesMax = 64 * 1024 * 1024

export interface CachedRegistry extends Registry {
  /** Drops the documents of these changes, which are on the disk now. */
  forget(workspace: string, changes: readonly Change[]): void
}

const ofDestroying: ReadonlySet<DocumentKind> = new Set(["destroyed", "retention-state"])
/**
 * That a workspace has none is cached too: each page asks for it. Of other kinds a client could ask
 * for any number of ids.
 */
const onePerWorkspace: ReadonlySet<DocumentKind> = new Set(["retention-state"])

type Answer = Document | string | undefined

interface CachedAnswer {
  /** A promise, so that a cached answer needs no new object. */
  readonly asked: Promise<Answer>
  readonly untilMs: number
  bytes: number
}

export function cacheRegistry(
  registry: Registry,
  clock: Pick<Clock, "elapsed"> = systemClock,
): CachedRegistry {
  // If only one process writes, its cached documents are valid until it changes them.
  const untilMs = () =>
    registry.staleMsMax === 0 ? Infinity : clock.elapsed() + registry.staleMsMax
  const known = new Map<string, CachedAnswer>()
  let bytes = 0

  const forget = (name: string): void => {
    bytes -= known.get(name)?.bytes ?? 0
    known.delete(name)
  }
  const remember = (
    name: string,
    read: () => Promise<Answer>,
    isAbsenceCached = false,
  ): Promise<Answer> => {
    const seen = known.get(name)
    if (seen !== undefined) {
      if (seen.untilMs === Infinity || seen.untilMs > clock.elapsed()) return seen.asked
      forget(name)
    }
    const one: CachedAnswer = { asked: read(), untilMs: untilMs(), bytes: 0 }
    known.set(name, one)
    // The document may be changed, or the cache be emptied, while this read is running.
    const isCurrent = (): boolean => known.get(name) === one
    const weigh = (answer: Answer): void => {
      if (!isCurrent()) return
      if (answer === undefined && !isAbsenceCached) return forget(name)
      one.bytes = answerBytes + bytesOf(typeof answer === "object" ? answer.value : answer)
      bytes += one.bytes
      if (bytes <= bytesMax) return
      known.clear()
      bytes = 0
    }
    one.asked.then(weigh, () => isCurrent() && forget(name))
    return one.asked
  }

  return {
    staleMsMax: registry.staleMsMax,
    // A document's kind is the one that was asked for, so its value has that kind's type.
    get<K extends DocumentKind>(kind: K, workspace: string, id: string, isNow = false) {
      const ask = () => registry.get(kind, workspace, id)
      if (registry.staleMsMax > 0 && (isNow || ofDestroying.has(kind))) return ask()
      const name = nameOf(kind, workspace, id)
      return remember(name, ask, onePerWorkspace.has(kind)) as Promise<Document<K> | undefined>
    },
    // A name without a workspace is that of a credential. Its answer is a workspace's id.
    workspaceOf: (kind, id) =>
      remember(`${kind}/${id}`, () => registry.workspaceOf(kind, id)) as Promise<
        string | undefined
      >,
    list: (kind, workspace, before, limit) => registry.list(kind, workspace, before, limit),
    count: (kind, workspace) => registry.count(kind, workspace),
    forget(workspace, changes) {
      for (const { kind, id } of changes) forget(nameOf(kind, workspace, id))
    },
  }
}

function nameOf(kind: DocumentKind, workspace: string, id: string): string {
  return `${kind}/${workspace}/${id}`
}

/** Memory of a cached answer without its value. */
const answerBytes = 512

/** An upper estimate of a value's memory. Many tiny parts take twenty times their text. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return 24 + 2 * value.length
  if (typeof value !== "object" || value === null) return 8
  let bytes = 64
  for (const part of Object.values(value)) bytes += bytesOf(part)
  return bytes
}
