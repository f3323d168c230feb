import type { Told } from "../ask.ts"
import { elementOf, type Child } from "../elements/elements.ts"
import { IconButton } from "./button.tsx"
import { Form, unsaved, type FormProps } from "./form.tsx"
import { crossIcon } from "./icon.tsx"
import { heldSecret, holdSecret, showSecret } from "./secret.tsx"

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
    // What was refused may have been done all the same, or by somebody else.
    if (dialog.querySelector(".refused-line") !== null)
      for (const list of document.querySelectorAll(".paged")) list.dispatchEvent(new Event("stale"))
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

// Dialogs with a form in them ------------------------------------------------------------------------

interface FormDialog<Value> extends Omit<FormProps<Value>, "cancel"> {
  readonly title: string
}

/** Closes once the form is answered. */
export function openForm<Value>({ title, done, ...form }: FormDialog<Value>): void {
  openDialog(title, (close) => {
    const answered = (value: Value): void => {
      close()
      done?.(value)
    }
    return <Form {...form} done={answered} cancel={close} />
  })
}

interface Confirmation<Value> {
  readonly title: string
  /** The consequences, in a sentence or two. */
  readonly says: Child
  readonly action: string
  readonly act: () => Promise<Told<Value>>
  readonly done: (value: Value) => void
}

/** Asks before an action that cannot be undone. */
export function confirm<Value>({ says, act, ...form }: Confirmation<Value>): void {
  openForm({ ...form, submit: act, children: <p class="soft">{says}</p> })
}

/** Returns whether there is unsaved work, and asks whether to lose it by doing this. */
export function asksBefore(act: () => void): boolean {
  const work = unsaved()
  if (work === null) return false
  closeDialogs()
  confirm({
    title: "Leave without saving?",
    says: "What you have typed here is lost.",
    action: "Leave",
    act: async () => ({ ok: true, value: undefined }),
    done() {
      work.removeAttribute("data-unsaved")
      act()
    },
  })
  return true
}

interface SecretDialog<Value> extends FormDialog<Value> {
  /** What is shown once, in place of the form. `stored` closes the dialog. */
  readonly secret: (value: Value, stored: () => void) => Node
}

/** For what is shown once: the dialog stays with it until it is stored. */
export function openSecretForm<Value>(dialog: SecretDialog<Value>): void {
  const { title, done, secret, ...form } = dialog
  openDialog(title, (close) => {
    const place = elementOf(<div />)
    const made = (value: Value): void => {
      done?.(value)
      showSecret(place, secret(value, close))
    }
    place.append(<Form {...form} done={made} cancel={close} />)
    return place
  })
}
