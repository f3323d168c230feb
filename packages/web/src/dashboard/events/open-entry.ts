// The entry of an address: by its sequence, its receipt, or the id of its event.

import type { EventsPage, ListedEntry, ReceiptAnswer } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { wholeChain, type Desk } from "../desk.ts"

export interface Neighbours {
  readonly entry: ListedEntry
  readonly before: ListedEntry | undefined
}

/** Undefined if the entry does not exist, or if this reader may not see it. */
export async function openEntry(desk: Desk, name: string): Promise<Told<Neighbours | undefined>> {
  const sequence = await sequenceOf(desk, name)
  if (!sequence.ok) return isMissing(sequence) ? { ok: true, value: undefined } : sequence
  if (sequence.value === undefined) return { ok: true, value: undefined }
  const told = await desk.get<EventsPage>(["events"], {
    ...wholeChain,
    cursor: sequence.value + 1,
    limit: 2,
    include: "proof",
  })
  if (!told.ok) return told
  const [entry, before] = told.value.events
  if (entry?.sequence !== sequence.value) return { ok: true, value: undefined }
  const isNeighbour = before?.sequence === entry.sequence - 1
  return { ok: true, value: { entry, before: isNeighbour ? before : undefined } }
}

export function isEntryName(text: string): boolean {
  return /^(?:rcp|evt)_[0-9A-Z]{20,}$/i.test(text)
}

async function sequenceOf(desk: Desk, name: string): Promise<Told<number | undefined>> {
  if (/^[1-9]\d{0,14}$/.test(name)) return { ok: true, value: Number(name) }
  if (!isEntryName(name)) return { ok: true, value: undefined }
  if (/^rcp_/i.test(name)) {
    const told = await desk.get<ReceiptAnswer>(["receipts", name])
    return told.ok ? { ok: true, value: told.value.entry.sequence } : told
  }
  const told = await desk.get<EventsPage>(["events"], {
    ...wholeChain,
    query: `id:${name}`,
    limit: 1,
  })
  return told.ok ? { ok: true, value: told.value.events[0]?.sequence } : told
}

function isMissing(told: Told<unknown>): boolean {
  return !told.ok && (told.refusal.status === 404 || told.refusal.status === 400)
}
