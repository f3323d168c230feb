// Runs work with the same name one after another. Work with different names runs in parallel.

export type OneAtATime = <T>(name: string, work: () => Promise<T>) => Promise<T>

export function createOneAtATime(): OneAtATime {
  const last = new Map<string, Promise<unknown>>()
  return async (name, work) => {
    const turn = Promise.allSettled([last.get(name)]).then(work)
    last.set(name, turn)
    try {
      return await turn
    } finally {
      if (last.get(name) === turn) last.delete(name)
    }
  }
}
