export interface Stretch {
  readonly is: "kept" | "added" | "removed"
  readonly text: string
}

/** Longer texts are not compared word by word, because it would take longer than a reader waits. */
const wordsMax = 3000

/** Longest common subsequence, over words with the space after them. */
export function wordDifference(before: string, after: string): readonly Stretch[] {
  const [from, to] = [wordsOf(before), wordsOf(after)]
  if (from.length > wordsMax || to.length > wordsMax)
    return before === after
      ? [{ is: "kept", text: after }]
      : [
          { is: "removed", text: before },
          { is: "added", text: after },
        ]
  const lengths = commonLengths(from, to)
  const stretches: { is: Stretch["is"]; text: string }[] = []
  const add = (is: Stretch["is"], text: string): void => {
    const last = stretches.at(-1)
    if (last?.is === is) last.text += text
    else stretches.push({ is, text })
  }
  let [i, j] = [0, 0]
  while (i < from.length || j < to.length) {
    const [gone = "", come = ""] = [from[i], to[j]]
    if (i < from.length && j < to.length && gone === come) {
      add("kept", come)
      i++
      j++
    } else if (
      j >= to.length ||
      (i < from.length && at(lengths, i + 1, j) >= at(lengths, i, j + 1))
    ) {
      add("removed", gone)
      i++
    } else {
      add("added", come)
      j++
    }
  }
  return stretches
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? []
}

/** `lengths[i][j]`: how many words the rest of one from i and of the other from j have in common. */
function commonLengths(from: readonly string[], to: readonly string[]): readonly Uint16Array[] {
  const lengths = Array.from({ length: from.length + 1 }, () => new Uint16Array(to.length + 1))
  for (let i = from.length - 1; i >= 0; i--)
    for (let j = to.length - 1; j >= 0; j--) {
      const row = lengths[i]
      if (row !== undefined)
        row[j] =
          from[i] === to[j]
            ? at(lengths, i + 1, j + 1) + 1
            : Math.max(at(lengths, i + 1, j), at(lengths, i, j + 1))
    }
  return lengths
}

function at(lengths: readonly Uint16Array[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0
}
