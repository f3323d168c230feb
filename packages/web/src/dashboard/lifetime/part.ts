/** What a tab shows. */
export interface Part {
  readonly node: Node
  /** Another one takes its place: stops what it has under way. */
  close?(): void
}
