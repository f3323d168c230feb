import type { Child } from "../elements/jsx-runtime.ts"
import { IconButton } from "./button.tsx"
import { crossIcon } from "./icon.tsx"
import { heldSecret, holdSecret } from "./secret.tsx"

/**
 * Opens a dialog over the page, with the focus in its first field. Escape closes it, though no
 * secret that is not stored yet, and the focus returns to where it was. `draw` gets the function
 * that closes it.
 */
export function openDialog(title: string, draw: (close: () => void) => Child): void {
  const dialog = document.createElement("dialog")
  const close = (): void => dialog.close()
  dialog.setAttribute("aria-labelledby", "dialog-title")
  dialog.append(
    <header>
      <h2 id="dialog-title">{title}</h2>
      <IconButton icon={crossIcon} label="Close" onClick={() => mayLeave() && close()} />
    </header>,
    <>{draw(close)}</>,
  )
  const over = new AbortController()
  const hold = (event: Event): void => {
    if (!mayLeave()) event.preventDefault()
  }
  dialog.addEventListener("cancel", hold)
  // Browsers let nothing but this keep a dialog open at a second Escape.
  addEventListener("keydown", (event) => event.key === "Escape" && hold(event), over)
  dialog.addEventListener("close", () => {
    over.abort()
    dialog.remove()
  })
  document.body.append(dialog)
  dialog.showModal()
  dialog.querySelector<HTMLElement>(".field")?.focus()
}

/** Closes the dialog when the reader leaves the page, because it would cover the next one. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close()
}

/** Whether a secret is shown that is not stored yet, or a dialog waits for one. */
export function isHeld(): boolean {
  return document.querySelector(`${heldSecret}, dialog .button.main:disabled`) !== null
}

/** Closes the dialog, and returns whether the page may be left. */
export function leaveDialogs(): boolean {
  const may = mayLeave()
  if (may) closeDialogs()
  return may
}

/** A secret that is shown once is not lost by leaving. */
function mayLeave(): boolean {
  return !holdSecret() && !isHeld()
}
