import { Text } from "./text.tsx"

/** Keeps line breaks, which other text shows by their code. */
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
