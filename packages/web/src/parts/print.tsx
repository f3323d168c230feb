import { Icon, printIcon } from "./icon.tsx"

/** In the bar of a page that is made to be printed. */
export function Print() {
  return (
    <button type="button" class="button wide-only" onClick={() => print()}>
      <Icon of={printIcon} /> Print
    </button>
  )
}
