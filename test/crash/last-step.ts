/**
 * The text of the file in STEPS: the step that is the last, as a number and a kind, and then the
 * kind of each step so far, one a line. Without a kind, the number counts all steps.
 */
export function isLastReached(text: string): boolean {
  const [last = "", ...steps] = text.trimEnd().split("\n")
  const [, count, kind] = /^(\S+) ?(.*)$/.exec(last) ?? []
  return steps.filter((step) => kind === "" || step === kind).length >= Number(count)
}
