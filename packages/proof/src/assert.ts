/**
 * For impossible states: a broken contract between parts of our own program. Untrusted input never
 * reaches an assertion; it becomes `undefined` or a verdict.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

export class AssertionError extends Error {
  override readonly name = "AssertionError"
}
