// Posts an entry under its search keys. Its fields come from searchable-fields.ts, or as bytes from
// the faster scanner (entry-scanner.ts).

import { KeyGroups, owners, partyValue } from "./key-groups.ts"
import { isName } from "./metadata-paths.ts"
import { PostingTable } from "./posting-table.ts"
import type { Field, Filed, Owner } from "./search.ts"
import { ColumnWriter, idLength } from "./segment-columns.ts"

/** The initial size of the table for each entry. It grows as needed. */
const keysPerEntry = 8
const bytesPerEntry = 160
/** Its prefix, its number, and its names in searches. */
const bytesPerGroup = 1024

export class EntryPoster {
  readonly groups = new KeyGroups()
  readonly table: PostingTable
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
  /** Which ids of the current entry are in columns. */
  readonly #inColumn = { id: false, receipt: false }
  readonly #id = this.groups.ofField(["id"], "nobody", true)
  readonly #receipt = this.groups.ofField(["receipt"], "nobody", true)

  constructor(entries: number, blockRows: number) {
    this.table = new PostingTable(entries * keysPerEntry, entries * bytesPerEntry)
    this.columns = new ColumnWriter(entries, blockRows)
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
    this.#inColumn.id = this.#inColumn.receipt = false
  }

  /** Removes all keys of the current entry, so that it can be posted in another way. */
  undo(): void {
    const { columns, entry } = this
    this.table.undo()
    columns.clearIds(entry, this.#inColumn)
    this.#inColumn.id = this.#inColumn.receipt = false
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
  id(field: "id" | "receipt", from: Uint8Array, start: number, end: number): boolean {
    if (
      this.#inColumn[field] ||
      end - start !== idLength ||
      !isName(prefixes[field], from, start, 4)
    )
      return false
    if (!this.columns.setId(this.entry, field, from, start + 4)) return false
    this.#inColumn[field] = true
    this.table.post(this.filters[field], 0)
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
    return this.id(group === this.#id ? "id" : "receipt", bytes, 0, bytes.length)
  }
}

const prefixes = { id: "evt_", receipt: "rcp_" } as const
