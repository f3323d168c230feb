// Dialogs with a form in them.

import type { Told } from "../ask.ts"
import { elementOf } from "../elements/elements.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { closeDialogs, openDialog } from "./dialog.tsx"
import { Form, unsaved, type FormProps } from "./form.tsx"
import { showSecret } from "./secret.tsx"

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
