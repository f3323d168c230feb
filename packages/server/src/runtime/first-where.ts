/**
 * The place of the first member for which this holds; the length of the list if there is none. It
 * must hold for all members after it, so that a binary search finds it.
 */
export function firstWhere<T>(list: ArrayLike<T>, holds: (member: T) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    // Below the length, there is a member.
    if (holds(list[middle] as T)) high = middle
    else low = middle + 1
  }
  return low
}
