// Queues of waiting work. Each party has a queue, and parties take turns, so that one with much
// work does not delay the others.

interface Waiting {
  readonly resume: () => void
  next: Waiting | undefined
}

/** Linked, because an array of a hundred thousand is moved whenever its first member is taken. */
interface Line {
  readonly first: Waiting
  last: Waiting
}

export class PartyLines {
  /** By party, the party with the next turn first. */
  readonly #lines = new Map<string, Line>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  /** Resolves when it is this work's turn. */
  wait(party: string): Promise<void> {
    return new Promise((resume) => {
      const one: Waiting = { resume, next: undefined }
      const line = this.#lines.get(party)
      if (line === undefined) this.#lines.set(party, { first: one, last: one })
      else line.last = line.last.next = one
    })
  }

  /** Resumes the first work of the next party, if there is one. */
  resume(): void {
    const [next] = this.#lines
    if (next === undefined) return
    const [party, { first, last }] = next
    this.#lines.delete(party)
    if (first.next !== undefined) this.#lines.set(party, { first: first.next, last })
    first.resume()
  }
}
