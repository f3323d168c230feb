/** Something that is not as it was written: a sentence, and the first entry that it is about. With `upTo`, one of the entries from there to here. */
export interface Fault {
  readonly workspace?: string
  readonly sequence?: number
  readonly upTo?: number
  readonly what: string
}
