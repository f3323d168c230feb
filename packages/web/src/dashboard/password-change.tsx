import { askJson } from "../ask.ts"
import { openForm } from "../parts/dialog.tsx"
import { Field, textIn } from "../parts/form.tsx"
import { root } from "../place.ts"
import { confirmed } from "./confirmed.tsx"
import type { Desk } from "./desk.ts"

export function openPasswordChange({ inSession }: Desk): void {
  openForm({
    title: "Change password",
    action: "Change it",
    submit(values) {
      const body = { old: textIn(values, "old"), new: textIn(values, "new") }
      const url = new URL("v1/session/password", root)
      return inSession(() => askJson(url, { method: "POST", body }))
    },
    done: () => confirmed("The password is changed"),
    children: (
      <>
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
      </>
    ),
  })
}
