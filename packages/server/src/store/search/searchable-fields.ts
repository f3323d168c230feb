// What of an entry can be searched, and who may find by it: whoever is shown a field in clear. What
// stands in the public body is nobody's secret; of the sealed rest, the target's own members are
// the target's, and everything else is the actor's.
//
// Entries are opened here by hand, and not by `openEntry`, because every entry passes through, and
// this is a third of its cost. Nothing is believed of what comes out: what a search finds is read
// again and verified.

import { hash } from "node:crypto"
import {
  fieldsWith,
  isJsonObject,
  parseJson,
  parseRecord,
  type Json,
  type JsonObject,
  type Kind,
} from "@tallystick/proof"
import { disclosuresOf } from "../opened-entry.ts"
import { instantOf } from "../instant.ts"
import type { Lane } from "../documents.ts"
import type { Field, Filed, Owner } from "./search.ts"
import type { Stored } from "../entries.ts"

type Fields = Record<Owner, Field[]>

/** What a body and its disclosures say of the places that hold sealed members. */
interface Claims {
  readonly top: Record<string, Json>
  readonly actor: Record<string, Json>
  readonly target: Record<string, Json>
  readonly metadata: Record<string, Json>
}

/** The project of the service's own entries, which no caller can choose. */
export const systemProject = "system"
const contextOwner = "actor"

/**
 * An entry of which nothing can be read is filed all the same: it is counted, and shown where
 * nobody asks for what it may have said.
 */
export function filedOf(stored: Stored): Filed {
  const body = stored.body === undefined ? undefined : parseJson(textOf(stored.body))
  return (isJsonObject(body) ? readable(stored, body) : undefined) ?? unreadable(stored)
}

function readable(stored: Stored, body: JsonObject): Filed | undefined {
  const said = saidOf(body)
  const { actor, target, metadata = {}, userVisible } = body
  const instant = said === undefined ? undefined : instantOf(said.occurredAt)
  const kind = parseRecord(stored.record)?.kind
  const claims = claimsOf(body, disclosuresOf(stored))
  if (said === undefined || instant === undefined || kind === undefined || claims === undefined)
    return undefined
  if (!isParty(actor) || !isParty(target) || !isJsonObject(metadata)) return undefined

  const { id, receipt, projectId, source, lane } = said
  const nobody: Field[] = [
    text("actor", actor.id),
    text("target", target.id),
    text("id", id),
    text("receipt", receipt),
    exact("type", actor.type),
    exact("type", target.type),
    exact("lane", lane),
    exact("project", projectId),
    exact("source", source),
    exact("kind", kind),
  ]
  for (const name of freeTexts)
    if (typeof body[name] === "string") nobody.push(text(name, body[name]))
  const fields: Fields = { nobody, actor: [], target: [] }
  addParty(fields, "actor", actor, claims.actor)
  addParty(fields, "target", target, claims.target)
  addMembers(nobody, "metadata", metadata)
  addMembers(fields.actor, "metadata", claims.metadata)
  addMembers(fields.actor, "metadata", claims.top["metadata"] ?? {})
  const context = isJsonObject(claims.top["context"]) ? claims.top["context"] : {}
  const ofContext = [
    ["trace", context["traceId"]],
    ["key", context["keyId"]],
    // Older entries have it in clear. It is shown with the context alone, and found so.
    ["key", body["keyId"]],
  ] as const
  for (const [name, value] of ofContext)
    if (typeof value === "string") fields[contextOwner].push(exact(name, value))
  return {
    sequence: stored.sequence,
    projectId,
    isSystem: projectId === systemProject,
    // The body was made from a Content; a lane that is none is found by nobody.
    lane: lane as Lane,
    userVisible: userVisible === true,
    occurredMs: instant.ms,
    occurredNs: instant.ns,
    actor: { id: actor.id, type: actor.type },
    target: { id: target.id, type: target.type },
    fields,
  }
}

/** An entry that is not there. */
export function missing(sequence: number): Filed {
  return bare(sequence, "event", 0, [])
}

function unreadable({ sequence, record, receipt }: Stored): Filed {
  const { kind = "event", timeMs = 0 } = parseRecord(record) ?? {}
  return bare(sequence, kind, timeMs, [text("receipt", receipt), exact("kind", kind)])
}

function bare(sequence: number, kind: Kind, timeMs: number, nobody: readonly Field[]): Filed {
  const isSystem = kind !== "event" && kind !== "consent"
  return {
    sequence,
    projectId: isSystem ? systemProject : "",
    isSystem,
    lane: "operations",
    userVisible: false,
    occurredMs: timeMs,
    occurredNs: 0,
    actor: { id: "", type: "" },
    target: { id: "", type: "" },
    fields: { nobody, actor: [], target: [] },
  }
}

const freeTexts = fieldsWith("form", "text")
/** Members that every body has as texts. */
export const saidTexts = [
  "id",
  "receipt",
  "projectId",
  "action",
  "occurredAt",
  "source",
  "lane",
] as const

function saidOf(body: JsonObject): Record<(typeof saidTexts)[number], string> | undefined {
  for (const name of saidTexts) if (typeof body[name] !== "string") return undefined
  // All of them are texts, as was just seen.
  return body as Record<(typeof saidTexts)[number], string>
}

/**
 * Puts each disclosed claim beside the members of the object that lists its digest; undefined when
 * one has no place.
 */
function claimsOf(body: JsonObject, disclosures: readonly string[]): Claims | undefined {
  const claims: Claims = { top: {}, actor: {}, target: {}, metadata: {} }
  for (const disclosure of disclosures) {
    const digest = hash("sha256", disclosure, "base64url")
    const parsed = parseJson(Buffer.from(disclosure, "base64url").toString("utf8"))
    if (!Array.isArray(parsed)) return undefined
    // Array.isArray makes any[] of it; its items are Json.
    const [, name, value] = parsed as [Json, Json, Json]
    const place = lists(body["actor"], digest)
      ? claims.actor
      : lists(body["target"], digest)
        ? claims.target
        : lists(body["metadata"], digest)
          ? claims.metadata
          : lists(body, digest)
            ? claims.top
            : undefined
    if (place === undefined || typeof name !== "string" || value === undefined) return undefined
    place[name] = value
  }
  return claims
}

function lists(object: Json | undefined, digest: string): boolean {
  if (!isJsonObject(object)) return false
  const digests = object["_sd"]
  return Array.isArray(digests) && digests.includes(digest)
}

interface OpenParty extends JsonObject {
  readonly id: string
  readonly type: string
}

function isParty(value: Json | undefined): value is OpenParty {
  return isJsonObject(value) && typeof value["id"] === "string" && typeof value["type"] === "string"
}

function addParty(
  fields: Fields,
  party: "actor" | "target",
  open: JsonObject,
  sealed: Record<string, Json>,
): void {
  for (const member of ["name", "email"] as const) {
    if (typeof open[member] === "string")
      fields.nobody.push({ names: [party, member], value: open[member], isText: true })
    if (typeof sealed[member] === "string")
      fields[party].push({ names: [party, member], value: sealed[member], isText: true })
  }
  if (isJsonObject(sealed["other"])) addLeaves(fields[party], [], sealed["other"])
}

function addMembers(fields: Field[], path: string, object: Json): void {
  if (!isJsonObject(object)) return
  for (const name of Object.keys(object)) {
    const value = object[name]
    if (name !== "_sd" && value !== undefined) addValue(fields, [`${path}.${name}`], value)
  }
}

/**
 * Every scalar is a field; those of an array stand under the array's own name. Without a name it is
 * text alone.
 */
function addLeaves(
  fields: Field[],
  names: readonly string[],
  value: JsonObject | readonly Json[],
): void {
  for (const [name, member] of Object.entries(value))
    addValue(fields, Array.isArray(value) ? names : names.map((path) => `${path}.${name}`), member)
}

function addValue(fields: Field[], names: readonly string[], value: Json): void {
  switch (typeof value) {
    case "string":
      fields.push({ names, value, isText: true })
      break
    case "number":
    case "boolean":
      fields.push({ names, value: JSON.stringify(value), isText: true })
      break
    default:
      // What is left is an object, an array, or null, which says nothing that could be found.
      if (value !== null) addLeaves(fields, names, value)
  }
}

function text(name: string, value: string): Field {
  return { names: [name], value, isText: true }
}

function exact(name: string, value: string): Field {
  return { names: [name], value, isText: false }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
}
