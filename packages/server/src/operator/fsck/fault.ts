/**
 * Something that differs from what was written. `sequence` is the entry; with `upTo`, the fault is
 * in one of the entries between.
 */
export interface Fault {
  readonly workspace?: string
  readonly sequence?: number
  readonly upTo?: number
  readonly what: string
}
