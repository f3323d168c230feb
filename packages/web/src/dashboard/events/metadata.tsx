// Metadata, with what was before and what is after drawn as a difference.

import { Value } from "../../parts/text.tsx"
import { Text } from "../../parts/text.tsx"
import { differencesIn } from "./differences.ts"

export function Metadata({ of: metadata }: { readonly of: Readonly<Record<string, unknown>> }) {
  const { changes, rest } = differencesIn(metadata)
  const count = changes.length + rest.length
  if (count === 0) return <></>
  return (
    <>
      <h3>
        Metadata{" "}
        <span class="quiet">
          {count === 1 ? "1 field" : `${count} fields`}
          {changes.length > 0 && `, ${changes.length} changed`}
        </span>
      </h3>
      <table class="metadata">
        <thead class={changes.length === 0 ? "unseen" : undefined}>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">{changes.length === 0 ? "Value" : "Before"}</th>
            {changes.length > 0 && <th scope="col">After</th>}
          </tr>
        </thead>
        <tbody>
          {changes.map(({ field, before, after }) => (
            <tr>
              <th scope="row">
                <Text of={field} />
              </th>
              <td class="was">{before !== undefined && <del>{<Value of={before} />}</del>}</td>
              <td class="now">{after !== undefined && <ins>{<Value of={after} />}</ins>}</td>
            </tr>
          ))}
          {rest.map(([field, value]) => (
            <tr>
              <th scope="row">
                <Text of={field} />
              </th>
              <td colspan={changes.length > 0 ? 2 : 1}>
                <Text of={JSON.stringify(value) ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
