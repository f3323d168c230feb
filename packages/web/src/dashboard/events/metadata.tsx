// Metadata, with values before and after drawn as a difference.

import { elementOf, type Child } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { counted } from "../../parts/counted.ts"
import { Text, Value } from "../../parts/text.tsx"
import { metadataTerm } from "./asked.ts"
import { differencesIn, type Found } from "./differences.ts"
import { Terms } from "./term-buttons.tsx"

interface MetadataProps {
  readonly of: Readonly<Record<string, unknown>>
  readonly find: (term: string) => void
}

/** An event may have thousands of fields, which take seconds to draw. */
const shownMax = 200

export function Metadata({ of: metadata, find }: MetadataProps) {
  const terms = (path: string, value: unknown) => (
    <Terms term={metadataTerm(path, value)} find={find} />
  )
  const one = (each: Found | undefined, drawn: (value: Node) => Node): Child =>
    each !== undefined && [drawn(<Value of={each.value} />), terms(each.path, each.value)]
  const { changes, rest } = differencesIn(metadata)
  const count = changes.length + rest.length
  if (count === 0) return <></>
  const rows = [
    ...changes.map(({ field, before, after }) => () => (
      <tr>
        <th scope="row">
          <Text of={field} />
        </th>
        <td class="was">
          {one(before, (value) => (
            <del>{value}</del>
          ))}
        </td>
        <td class="now">
          {one(after, (value) => (
            <ins>{value}</ins>
          ))}
        </td>
      </tr>
    )),
    ...rest.map(([field, value]) => () => (
      <tr>
        <th scope="row">
          <Text of={field} />
        </th>
        <td colspan={changes.length > 0 ? 2 : 1}>
          <Text of={JSON.stringify(value) ?? ""} />
          {terms(field, value)}
        </td>
      </tr>
    )),
  ]
  const body = elementOf(<tbody>{rows.slice(0, shownMax).map((row) => row())}</tbody>)
  return (
    <>
      <h3>
        Metadata{" "}
        <span class="quiet">
          {counted(count, "field", "fields")}
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
        {body}
      </table>
      {count > shownMax && (
        <Button
          kind="plain"
          onClick={({ currentTarget: button }) => {
            body.append(...rows.slice(shownMax).map((row) => row()))
            if (button instanceof Element) button.remove()
          }}
        >
          Show {counted(count - shownMax, "more field", "more fields")}
        </Button>
      )}
    </>
  )
}
