import { elementOf, type Child } from "../elements/elements.ts"
import { Button, IconButton } from "./button.tsx"
import { crossIcon, Icon, plusIcon } from "./icon.tsx"

interface RowsParts<Item> {
  /** `Rule`: they are called Rule 1, Rule 2. */
  readonly name: string
  readonly className: string
  readonly items: readonly Item[]
  /** The fields of one. */
  readonly draw: (item: Item | undefined) => Child
  /** More buttons below them. */
  readonly beside?: Child
}

/** Parts of a form that its reader adds and removes, which counts as typing in it. */
export function formRows<Item>({ name, className, items, draw, beside }: RowsParts<Item>) {
  const rows = elementOf(<div class={`form-rows ${className}`} />)
  const number = (): void => {
    for (const [at, legend] of rows.querySelectorAll("legend").entries())
      legend.textContent = `${name} ${at + 1}`
  }
  const changed = (): void => {
    number()
    rows.dispatchEvent(new Event("input", { bubbles: true }))
  }
  const add = (item?: Item): void => {
    const row = elementOf(<fieldset />)
    const remove = (): void => {
      row.remove()
      changed()
    }
    const label = `Remove this ${name.toLowerCase()}`
    row.append(
      <legend />,
      <IconButton icon={crossIcon} label={label} onClick={remove} />,
      <>{draw(item)}</>,
    )
    rows.append(row)
  }
  for (const item of items) add(item)
  number()
  const addEmpty = (): void => {
    add()
    changed()
    rows.lastElementChild?.querySelector("input")?.focus()
  }
  return {
    place: rows,
    /** Each in a fieldset. */
    all: (): readonly HTMLElement[] => [...rows.querySelectorAll("fieldset")],
    node: (
      <>
        {rows}
        <p class="actions">
          <Button onClick={addEmpty}>
            <Icon of={plusIcon} /> {name}
          </Button>
          {beside}
        </p>
      </>
    ),
  }
}
