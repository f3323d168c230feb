import type { Child } from "../elements/jsx-runtime.ts"
import { IconButton } from "./icon-button.tsx"
import { crossIcon } from "./icon.tsx"

/**
 * Opens a dialog over the page. Escape closes it, and the keyboard returns to where it was. `draw`
 * is given what closes it.
 */
export function openDialog(title: string, draw: (close: () => void) => Child): void {
  const dialog = document.createElement("dialog")
  const close = (): void => dialog.close()
  dialog.setAttribute("aria-labelledby", "dialog-title")
  dialog.append(
    <header>
      <h2 id="dialog-title">{title}</h2>
      <IconButton icon={crossIcon} label="Close" onClick={close} />
    </header>,
    <>{draw(close)}</>,
  )
  dialog.addEventListener("close", () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** Whoever leaves takes none along: it would lie over what comes next. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close()
}
