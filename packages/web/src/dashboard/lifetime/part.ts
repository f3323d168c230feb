/** The content of a tab. */
export interface Part {
  readonly node: Node
  /** Called when another tab replaces it: stops running work. */
  close?(): void
}
