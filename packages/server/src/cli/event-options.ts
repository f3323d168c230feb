// An event as options of the command line.

import type { AuditEvent } from "@tallystick/client"
import { definedOf, printable, type JsonObject } from "@tallystick/proof"
import { isoTime, systemClock } from "../clock.ts"
import { StartError } from "../error.ts"
import { defaultLimits } from "../limits.ts"
import { objectIn } from "./event-input.ts"

export interface EventOptions {
  readonly action?: string
  readonly actor?: string
  readonly actorEmail?: string
  readonly target?: string
  readonly targetName?: string
  readonly project?: string
  readonly source?: AuditEvent["source"]
  readonly occurredAt?: string
  readonly metadata?: string
  readonly userVisible?: true
}

/** The members of an event that options give. */
export type EventFields = Partial<Omit<AuditEvent, "workspaceId">>

export function fieldsOf(options: EventOptions): EventFields {
  const { action, project, source, occurredAt, metadata, userVisible } = options
  const actor = partyOf("actor", options.actor, { email: options.actorEmail }, "--actor-email")
  const target = partyOf("target", options.target, { name: options.targetName }, "--target-name")
  return definedOf({
    action,
    actor,
    target,
    projectId: project,
    source,
    occurredAt,
    metadata: metadata === undefined ? undefined : metadataOf(metadata),
    userVisible,
  })
}

/** The default time of the event is now. */
export function eventOf(workspaceId: string, fields: EventFields): AuditEvent {
  const { action, actor, target } = fields
  if (action === undefined || actor === undefined || target === undefined) {
    const missing = Object.entries({ action, actor, target })
      .flatMap(([name, value]) => (value === undefined ? [`--${name}`] : []))
      .join(" and ")
    throw new StartError(`an event by options also needs ${missing}; for JSON, name a file, or -`)
  }
  const occurredAt = isoTime(systemClock.now())
  const usual = { projectId: "core", source: "api", occurredAt } as const
  return { ...usual, ...fields, workspaceId, action, actor, target }
}

function partyOf<Further extends { readonly [name: string]: string | undefined }>(
  name: string,
  text: string | undefined,
  further: Further,
  furtherOption: string,
) {
  const [, type, id] = /^([^:]+):(.+)$/s.exec(text ?? "") ?? []
  const given = Object.values(further).some((value) => value !== undefined)
  if (text === undefined && given) throw new StartError(`${furtherOption} also needs --${name}`)
  if (text === undefined) return undefined
  if (type === undefined || id === undefined)
    throw new StartError(`--${name} must be a type and an id, such as user:usr_1`)
  return { type, id, ...(given && further) }
}

function metadataOf(text: string): JsonObject {
  const read = objectIn(Buffer.from(text), defaultLimits)
  if ("object" in read) return read.object
  throw new StartError(`--metadata: ${printable(read.problem.detail)}`)
}
