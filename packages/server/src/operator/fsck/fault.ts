/**
 * Something that differs from what was written. `sequence` is the entry; with `upTo`, the fault is
 * in one of the entries between. `what` is a phrase that follows "workspace acme, entry 7: ".
 */
export interface Fault {
  readonly workspace?: string
  readonly sequence?: number
  readonly upTo?: number
  readonly what: string
  /** It is in the index or the search, which `tallystick reindex` makes again. */
  readonly isDerived?: true
}
