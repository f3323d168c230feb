import { Icon } from "./icon.tsx"

interface IconButtonProps {
  readonly icon: string
  /** The label, for tooltips and screen readers. */
  readonly label: string
  /** Unique on the page: the focus returns to it when its place is drawn again. */
  readonly id?: string
  readonly onClick: (event: Event) => void
}

export function IconButton({ icon, label, id, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      id={id}
      class="icon-button"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon of={icon} />
    </button>
  )
}
