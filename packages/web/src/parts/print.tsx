import { Icon, printIcon } from "./icon.tsx"

export function Print() {
  return (
    <button type="button" class="button wide-only" onClick={() => print()}>
      <Icon of={printIcon} /> Print
    </button>
  )
}
