// Keeps the documents that requests ask for again and again. With SQLite no answer is ever out of
// date: one process has the data to itself, and a change is forgotten here before its append is
// answered. An engine that several processes share must bound how long one may be, or ask again.
// Which workspace a credential is of never changes, and may be remembered by any of them.

import type { DocumentKind } from "./documents.ts"
import type { Change, Document, Registry } from "./store.ts"

/**
 * Beyond this everything is forgotten and read again: a bound, not a policy. Some forty thousand
 * credentials, or sixty of the largest policies.
 */
const bytesMax = 64 * 1024 * 1024

export interface CachedRegistry extends Registry {
  /** These changes are on the disk: what was known of their documents is not true any more. */
  forget(workspace: string, changes: readonly Change[]): void
}

type Answer = Document | string | undefined

interface CachedAnswer {
  /** A promise, so that an answer from here costs no object. */
  readonly asked: Promise<Answer>
  bytes: number
}

export function cacheRegistry(registry: Registry): CachedRegistry {
  const known = new Map<string, CachedAnswer>()
  let bytes = 0

  const forget = (name: string): void => {
    bytes -= known.get(name)?.bytes ?? 0
    known.delete(name)
  }
  const remember = (name: string, read: () => Promise<Answer>): Promise<Answer> => {
    const seen = known.get(name)
    if (seen !== undefined) return seen.asked
    const one: CachedAnswer = { asked: read(), bytes: 0 }
    known.set(name, one)
    const weigh = (answer: Answer): void => {
      // It was changed, or everything was forgotten, since it was asked for.
      if (known.get(name) !== one) return
      // What is not there, or could not be read, is asked for again.
      if (answer === undefined) return forget(name)
      one.bytes = answerBytes + bytesOf(typeof answer === "string" ? answer : answer.value)
      bytes += one.bytes
      if (bytes <= bytesMax) return
      known.clear()
      bytes = 0
    }
    one.asked.then(weigh, () => weigh(undefined))
    return one.asked
  }

  return {
    // A document's kind is the one that was asked for, so its value has that kind's type.
    get: <K extends DocumentKind>(kind: K, workspace: string, id: string) =>
      remember(nameOf(kind, workspace, id), () => registry.get(kind, workspace, id)) as Promise<
        Document<K> | undefined
      >,
    // This one is a workspace's id.
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

/** What an answer takes beside its value. */
const answerBytes = 512

/** About what a value takes in memory, rather more: of tiny parts that is twenty times its text. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return 24 + 2 * value.length
  if (typeof value !== "object" || value === null) return 8
  let bytes = 64
  for (const part of Object.values(value)) bytes += bytesOf(part)
  return bytes
}
