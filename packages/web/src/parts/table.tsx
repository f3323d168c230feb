import type { Child } from "../elements/elements.ts"
import { Text } from "./text.tsx"

export interface Column<Item> {
  /** On a narrow screen it is shown next to each value. */
  readonly name: string
  /** Its name is hidden: it is the first column, or one of buttons. */
  readonly isPlain?: boolean
  readonly isEnd?: boolean
  readonly isNumber?: boolean
  readonly draw: (item: Item) => Child
}

interface TableProps<Item> {
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  /** For items that have ended: revoked or expired. */
  readonly isOver?: ((item: Item) => boolean) | undefined
}

export function Table<Item>({ columns, items, isOver }: TableProps<Item>): Node {
  return (
    <table class="list">
      <thead>
        <tr>
          {columns.map(({ name, isEnd, isNumber }) => (
            <th class={isEnd || isNumber ? "end" : undefined}>
              {isEnd ? <span class="unseen">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr class={isOver?.(item) ? "over" : undefined}>
            {columns.map(({ name, isPlain, isEnd, isNumber, draw }) => (
              <td
                class={isEnd || isNumber ? "end" : undefined}
                data-name={isPlain || isEnd ? undefined : name}
              >
                {draw(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface BelowProps {
  /** Text from outside. */
  readonly of?: string
  readonly children?: Child
}

/** A second line, in quiet ink. */
export function Below({ of, children }: BelowProps): Node {
  return (
    <>
      <br />
      <span class="quiet">
        {of !== undefined && <Text of={of} />}
        {children}
      </span>
    </>
  )
}
