import { askJson, type Refusal } from "../ask.ts"
import { openDialog } from "../parts/dialog.tsx"
import { Field, Form, orRefusal, textIn } from "../parts/form.tsx"
import { announce } from "../parts/page.tsx"
import { root } from "../place.ts"

export function openPasswordChange(): void {
  openDialog("Change password", (close) => {
    const submit = (values: FormData): Promise<Refusal | undefined> => {
      const body = { old: textIn(values, "old"), new: textIn(values, "new") }
      const url = new URL("v1/session/password", root)
      return orRefusal(askJson(url, { method: "POST", body }), () => {
        close()
        announce("The password is changed")
      })
    }
    return (
      <Form action="Change it" submit={submit} cancel={close}>
        <Field
          name="old"
          label="Password until now"
          type="password"
          autocomplete="current-password"
        />
        <Field
          name="new"
          label="New password"
          type="password"
          autocomplete="new-password"
          minLength={12}
          maxLength={256}
          hint="12 characters or more. Your other sessions end."
        />
      </Form>
    )
  })
}
