import { Text } from "./text.tsx"

/** Lines stay lines: a newline is one of the characters that are otherwise shown by their number. */
export function Lines({ of: text }: { readonly of: string }) {
  return (
    <>
      {text.split(/\r?\n/).map((line, at) => (
        <>
          {at > 0 && "\n"}
          <Text of={line} />
        </>
      ))}
    </>
  )
}
