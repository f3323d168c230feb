// A queue of waiting work in which senders take turns, so that one with much work does not delay the
// others. The work of one sender keeps its order.

interface Waiting {
  readonly resume: () => void
  next: Waiting | undefined
}

/** Linked, because an array of a hundred thousand is moved whenever its first member is taken. */
interface List {
  readonly first: Waiting
  last: Waiting
}

export class RoundRobinQueue {
  /** The work of each sender, that with the next turn first. */
  readonly #lists = new Map<string, List>()

  get isEmpty(): boolean {
    return this.#lists.size === 0
  }

  /** Resolves when it is this work's turn. */
  wait(sender: string): Promise<void> {
    return new Promise((resume) => {
      const one: Waiting = { resume, next: undefined }
      const list = this.#lists.get(sender)
      if (list === undefined) this.#lists.set(sender, { first: one, last: one })
      else list.last = list.last.next = one
    })
  }

  /** Resumes the first work of the next sender, if there is one. */
  resume(): void {
    const [next] = this.#lists
    if (next === undefined) return
    const [sender, { first, last }] = next
    this.#lists.delete(sender)
    if (first.next !== undefined) this.#lists.set(sender, { first: first.next, last })
    first.resume()
  }
}
