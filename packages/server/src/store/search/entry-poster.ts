// Posts an entry under its search keys. Its fields come from searchable-fields.ts, or as bytes from
// the faster scanner (entry-scanner.ts).

import { KeyGroups, owners, partyValue } from "./key-groups.ts"
import { isAt } from "./metadata-paths.ts"
import type { Field, Filed, Owner } from "./search.ts"
import { idLength, type ColumnWriter, type IdColumn } from "./segment-columns.ts"

/** Its prefix, its number, and its names in searches. */
const bytesPerGroup = 1024

/** An id of an entry that is in a column if it has the ledger's form. */
export interface IdField {
  readonly prefix: Buffer
  readonly filter: number
  readonly column: IdColumn
  /** Whether that of the current entry is there. */
  isSet: boolean
}

/** Where keys are posted: a table, or a sum of them. */
export interface Postings {
  readonly items: number
  readonly memoryBytes: number
  /** A new key is written there, into what `room` returns. */
  readonly end: number
  room(bytes: number): Buffer
  begin(): void
  /** Removes all keys of the last item. */
  undo(): void
  /** Adds the key whose bytes are at `end` to the current item. */
  post(group: number, length: number): void
}

export class EntryPoster<T extends Postings = Postings> {
  readonly groups = new KeyGroups()
  readonly table: T
  readonly columns: ColumnWriter
  readonly filters = {
    project: this.groups.ofFilter("project"),
    system: this.groups.ofFilter("system"),
    lane: this.groups.ofFilter("lane"),
    visible: this.groups.ofFilter("visible"),
    actor: this.groups.ofFilter("actor"),
    target: this.groups.ofFilter("target"),
    id: this.groups.ofFilter("id"),
    receipt: this.groups.ofFilter("receipt"),
  }
  readonly ids: Readonly<Record<"id" | "receipt", IdField>>
  readonly #id = this.groups.ofField(["id"], "nobody", true)
  readonly #receipt = this.groups.ofField(["receipt"], "nobody", true)

  constructor(columns: ColumnWriter, tableOf: (groups: KeyGroups) => T) {
    this.table = tableOf(this.groups)
    this.columns = columns
    const { ids, receipts } = columns
    const [id, receipt] = [Buffer.from("evt_"), Buffer.from("rcp_")]
    this.ids = {
      id: { prefix: id, filter: this.filters.id, column: ids, isSet: false },
      receipt: { prefix: receipt, filter: this.filters.receipt, column: receipts, isSet: false },
    }
  }

  /** Its memory, approximately. */
  get memoryBytes(): number {
    return this.table.memoryBytes + this.groups.prefixes.length * bytesPerGroup
  }

  /** The position of the current entry. */
  get entry(): number {
    return this.table.items - 1
  }

  begin(): void {
    this.table.begin()
    this.ids.id.isSet = this.ids.receipt.isSet = false
  }

  /** Removes all keys of the current entry, so that it can be posted in another way. */
  undo(): void {
    const { columns, entry, ids } = this
    this.table.undo()
    for (const field of [ids.id, ids.receipt]) if (field.isSet) field.column.clear(entry)
    columns.made[entry] = Number.NaN
    ids.id.isSet = ids.receipt.isSet = false
  }

  /** Text that is in lower case, if it has to be. */
  text(group: number, text: string): void {
    const arena = this.table.room(text.length * 3)
    this.table.post(group, arena.utf8Write(text, this.table.end))
  }

  bytes(group: number, bytes: Uint8Array, start: number, end: number): void {
    const arena = this.table.room(end - start)
    let place = this.table.end
    for (let at = start; at < end; at++) arena[place++] = bytes[at] ?? 0
    this.table.post(group, end - start)
  }

  occurred(ms: number, ns: number): void {
    this.columns.occurred[this.entry] = ms
    this.columns.nanos[this.entry] = ns
  }

  filter(isSystem: boolean, isVisible: boolean): void {
    if (isSystem) this.table.post(this.filters.system, 0)
    if (isVisible) this.table.post(this.filters.visible, 0)
  }

  /** Puts an id into its column; false if it does not have the ledger's form. */
  id(field: IdField, from: Uint8Array, start: number, end: number): boolean {
    if (field.isSet || end - start !== idLength || !isAt(field.prefix, from, start)) return false
    if (!this.columns.setId(this.entry, field.column, from, start + 4)) return false
    field.isSet = true
    this.table.post(field.filter, 0)
    return true
  }

  filed(filed: Filed): void {
    const { projectId, lane, isSystem, userVisible, actor, target, fields } = filed
    this.occurred(filed.occurredMs, filed.occurredNs)
    this.filter(isSystem, userVisible)
    this.text(this.filters.project, projectId)
    this.text(this.filters.lane, lane)
    if (userVisible)
      for (const [group, party] of [
        [this.filters.actor, actor],
        [this.filters.target, target],
      ] as const) {
        const value = partyValue(party)
        this.bytes(group, value, 0, value.length)
      }
    for (const owner of owners) for (const field of fields[owner]) this.#field(owner, field)
  }

  #field(owner: Owner, { names, value, isText }: Field): void {
    const group = this.groups.ofField(names, owner, isText)
    if ((group === this.#id || group === this.#receipt) && this.#isInColumn(group, value)) return
    this.text(group, value.toLowerCase())
  }

  /** An entry has one id. A second one is an ordinary value. */
  #isInColumn(group: number, value: string): boolean {
    const bytes = Buffer.from(value)
    return this.id(group === this.#id ? this.ids.id : this.ids.receipt, bytes, 0, bytes.length)
  }
}
