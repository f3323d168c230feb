// The tokens that the full-text index is made of. Each begins with its workspace's number, so that
// what one tenant asks never walks through what another has written.
//
//   <number>:<word>                      a word of a value
//   <number>=<names><delimiter><value>   a whole value under its name, or under all of its names
//   <number>#…                           what filters ask for: o or s, whose own entry it is; v, visible; l, lane; p, project;
//                                        a and t, the actor and the target of a visible entry in its project
//   .                                    the end of a value that has no name, so that no phrase runs over it
//
// A value's words stand in their order, and the token of the whole value after them. Words are
// letters and digits alone. Of other texts, what would end a token, or be folded where case counts,
// is written as characters that nobody writes.

import { hash } from "node:crypto"
import { wordsOf } from "@tallystick/client/grammar"
import type { Field, Filed, Owner } from "../search/search.ts"

/**
 * One unit more than a query can ask for, so that what is cut here is neither equal to nor the
 * start of anything asked for.
 */
const unitsMax = 513

// One-byte characters, so that texts of such characters stay texts of one byte each while they are
// put together.
const escape = "\x80"
const delimiter = "\x81"
const upper = "\x82"
const end = "."

const special = /[\0-\x20"'\x7F-\x82]/g
const specialOrUpper = /[\0-\x20"'A-Z\x7F-\x82]/g
/**
 * Each of the special characters, by its place here, is written as the character at the same place
 * below, behind `escape`.
 */
const specials = `${String.fromCharCode(...Array(0x21).keys())}"'\x7F${escape}${delimiter}${upper}`
const written = "abcdefghijklmnopqrstuvwxyz0123456789!#$"

/**
 * Members that are two words joined by a line, and different in every entry: they have a column of
 * their own, where their words say all.
 */
export type IdColumn = "id" | "receipt"
const idForm = /^([a-z0-9]+)_([a-z0-9]+)$/

export type Columns = Record<Owner | IdColumn, string>

/** What is written of an entry. `share` is told each list of names that stand under one token. */
export function columnsOf(
  number: number,
  filed: Filed,
  share: (names: readonly string[]) => void,
): Columns {
  const { nobody, actor, target } = filed.fields
  const columns: Columns = {
    nobody: filterTokens(number, filed),
    actor: "",
    target: "",
    id: "",
    receipt: "",
  }
  for (const field of nobody) {
    const column = idColumnOf(field)
    const words =
      column === undefined || columns[column] !== ""
        ? undefined
        : idWords(field.value.toLowerCase())
    if (column === undefined || words === undefined)
      columns.nobody += fieldTokens(number, field, share)
    else for (const word of words) columns[column] += ` ${wordToken(number, word)}`
  }
  for (const field of actor) columns.actor += fieldTokens(number, field, share)
  for (const field of target) columns.target += fieldTokens(number, field, share)
  return columns
}

function filterTokens(
  number: number,
  { isSystem, userVisible, lane, projectId, actor, target }: Filed,
): string {
  const ordinary = `${ownToken(number, isSystem)} ${laneToken(number, lane)} ${projectToken(number, projectId)}`
  if (!userVisible) return ordinary
  const parties = `${partyToken(number, "actor", projectId, actor)} ${partyToken(number, "target", projectId, target)}`
  return `${ordinary} ${visibleToken(number)} ${parties}`
}

function fieldTokens(
  number: number,
  { names, value, isText }: Field,
  share: (names: readonly string[]) => void,
): string {
  if (names.length > 1) share(names)
  const whole = names.length === 0 ? end : valueToken(number, names, value)
  return isText ? `${wordTokens(number, value)} ${whole}` : ` ${whole}`
}

/**
 * A value's words. Those of a plain text by hand, because every value of every entry passes through
 * here.
 */
function wordTokens(number: number, value: string): string {
  let tokens = ""
  const lowered = value.toLowerCase()
  let start = -1
  for (let at = 0; at <= lowered.length; at++) {
    const code = at === lowered.length ? 0 : lowered.charCodeAt(at)
    if (code >= 0x80) {
      tokens = ""
      for (const word of wordsOf(value)) tokens += ` ${wordToken(number, word)}`
      return tokens
    }
    if (isLetterOrDigit(code)) {
      if (start < 0) start = at
    } else if (start >= 0) {
      tokens += ` ${wordToken(number, lowered.slice(start, at))}`
      start = -1
    }
  }
  return tokens
}

function isLetterOrDigit(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a)
  )
}

export function wordToken(number: number, word: string): string {
  return `${number}:${word.length > unitsMax ? word.slice(0, unitsMax) : word}`
}

export function valueToken(number: number, names: readonly string[], value: string): string {
  let key = ""
  for (const name of names) key += nameOf(name)
  const lowered = value.toLowerCase()
  return `${number}=${key}${delimiter}${escaped(lowered.length > unitsMax ? lowered.slice(0, unitsMax) : lowered)}`
}

export function ownToken(number: number, isSystem: boolean): string {
  return `${number}#${isSystem ? "s" : "o"}`
}

export function visibleToken(number: number): string {
  return `${number}#v`
}

export function laneToken(number: number, lane: string): string {
  return `${number}#l${inItsCase(lane)}`
}

export function projectToken(number: number, projectId: string): string {
  return `${number}#p${inItsCase(projectId)}`
}

/** Of all projects it is the start: no project's id is empty. */
export function partyToken(
  number: number,
  party: "actor" | "target",
  projectId: string,
  { id, type }: { readonly id: string; readonly type: string },
): string {
  return `${number}#${party === "actor" ? "a" : "t"}${inItsCase(id)}${delimiter}${inItsCase(type)}${delimiter}${inItsCase(projectId)}`
}

/** The column of an id, and its words; a value of another form is a field like others. */
export function idColumnOf({ names }: Pick<Field, "names">): IdColumn | undefined {
  const [name] = names
  return names.length === 1 && (name === "id" || name === "receipt") ? name : undefined
}

export function idWords(lowered: string): readonly string[] | undefined {
  return idForm.exec(lowered)?.slice(1)
}

/** Few names stand on many values. Case counts in them: `metadata.ID` is not `metadata.id`. */
function nameOf(name: string): string {
  const known = escapedNames.get(name)
  if (known !== undefined) return known
  const made =
    (name.length > unitsMax ? name.slice(0, unitsMax) : name).replace(specialOrUpper, privately) +
    delimiter
  if (escapedNames.size >= namesMax) escapedNames.clear()
  escapedNames.set(name, made)
  return made
}

const namesMax = 1000
const escapedNames = new Map<string, string>()

function escaped(text: string): string {
  return isPlain(text, false) ? text : text.replace(special, privately)
}

/**
 * Case counts, and so does every character. What is too long for a token ends with its hash, and so
 * is longer than what is not.
 */
function inItsCase(text: string): string {
  const short =
    text.length > unitsMax ? text.slice(0, unitsMax) + hash("sha256", text, "hex") : text
  return isPlain(short, true) ? short : short.replace(specialOrUpper, privately)
}

/**
 * Whether a text has nothing that must be written otherwise: quicker than to look for it with a
 * pattern.
 */
function isPlain(text: string, inItsCase: boolean): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (
      code <= 0x20 ||
      code === 0x22 ||
      code === 0x27 ||
      (code >= 0x7f && code <= 0x82) ||
      (inItsCase && code >= 0x41 && code <= 0x5a)
    )
      return false
  }
  return true
}

function privately(character: string): string {
  const at = specials.indexOf(character)
  return at < 0 ? upper + character : escape + written.charAt(at)
}
