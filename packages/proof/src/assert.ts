/**
 * For what cannot happen: a broken promise between parts of our own program. Input from outside
 * never reaches an assertion; it becomes `undefined` or a verdict.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

export class AssertionError extends Error {
  override readonly name = "AssertionError"
}
