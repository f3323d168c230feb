// Queues of waiting work. Each party has a queue, and parties take turns, so that one with much
// work does not delay the others.

export class PartyLines {
  /** By party, the party with the next turn first. */
  readonly #lines = new Map<string, (() => void)[]>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  /** Resolves when it is this work's turn. */
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
