import { Icon, printIcon } from "./icon.tsx"

/** For the bar of a printable page. */
export function Print() {
  return (
    <button type="button" class="button wide-only" onClick={() => print()}>
      <Icon of={printIcon} /> Print
    </button>
  )
}
