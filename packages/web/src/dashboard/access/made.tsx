import type { Maker } from "@tallystick/client/wire"
import { Below } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"

interface MadeProps {
  readonly at: string
  readonly by: Maker
}

export function Made({ at, by: { type, name, email, id } }: MadeProps) {
  return (
    <>
      <Time at={at} form="date" />
      <Below>
        by {type === "api_key" && "key "}
        <Text of={type === "instance" ? "the instance key" : (name ?? email ?? id ?? "")} />
      </Below>
    </>
  )
}
