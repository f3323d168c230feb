// Work that waits. Each party has a line, and parties take turns, so that one with much work does
// not make another wait for all of it.

export class PartyLines {
  /** By party, the one whose turn it is first. */
  readonly #lines = new Map<string, (() => void)[]>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  /** Resolves when it is the turn of this work. */
  wait(party: string): Promise<void> {
    return new Promise((resolve) => {
      const line = this.#lines.get(party)
      if (line === undefined) this.#lines.set(party, [resolve])
      else line.push(resolve)
    })
  }

  /** Resumes the first work of the next party, if there is one. */
  resume(): void {
    const [next] = this.#lines
    if (next === undefined) return
    const [party, line] = next
    this.#lines.delete(party)
    const first = line.shift()
    if (line.length > 0) this.#lines.set(party, line)
    first?.()
  }
}
