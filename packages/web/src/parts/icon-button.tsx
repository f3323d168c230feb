import { Icon } from "./icon.tsx"

interface IconButtonProps {
  readonly icon: string
  /** What it does, for those who point at it and those who do not see it. */
  readonly label: string
  /** Unique on the page: the keyboard returns to it when its place is drawn again. */
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
