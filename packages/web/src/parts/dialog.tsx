import type { Child } from "../elements/jsx-runtime.ts"
import { IconButton } from "./icon-button.tsx"
import { crossIcon } from "./icon.tsx"

/**
 * Opens a dialog over the page. Escape closes it, and the focus returns to where it was. `draw`
 * gets the function that closes it.
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

/** Closes the dialog when the reader leaves the page, because it would cover the next one. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close()
}
