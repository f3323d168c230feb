// A link that opens one thing for somebody without an account: made for a time, shown once.

import type { Child } from "../elements/elements.ts"
import { openSecretForm } from "../parts/dialog.tsx"
import { Choice, Field, textIn } from "../parts/form.tsx"
import { Secret } from "../parts/secret.tsx"
import type { Desk } from "./desk.ts"

const day = 86_400
const lifetimes: readonly (readonly [seconds: number, text: string])[] = [
  [3600, "In an hour"],
  [day, "In a day"],
  [7 * day, "In 7 days"],
  [30 * day, "In 30 days"],
  [90 * day, "In 90 days"],
  [365 * day, "In a year"],
]

interface LinkDialog<Created> {
  readonly title: string
  readonly children?: Child
  readonly path: readonly string[]
  readonly bodyOf?: (values: FormData) => object
  readonly note?: string | undefined
  readonly daysUsual: number
  readonly daysMax: number
  readonly address: (created: Created) => string
  readonly opens: Child
  readonly made?: (() => void) | undefined
}

export function openLinkDialog<Created>(desk: Desk, dialog: LinkDialog<Created>): void {
  const { title, children, path, bodyOf, daysUsual, daysMax, address, opens, made } = dialog
  openSecretForm({
    title,
    action: "Make the link",
    submit: (values) =>
      desk.send<Created>("POST", path, {
        ...bodyOf?.(values),
        expiresInSeconds: Number(textIn(values, "lifetime")),
        note: textIn(values, "note"),
      }),
    done: () => made?.(),
    secret: (created, stored) => (
      <Secret secret={address(created)} label="Copy link" stored={stored}>
        <p>{opens}</p>
      </Secret>
    ),
    children: (
      <>
        {children}
        <Choice
          name="lifetime"
          label="It ends"
          options={lifetimes
            .filter(([seconds]) => seconds <= daysMax * day)
            .map(([seconds, text]) => [String(seconds), text])}
          value={String(daysUsual * day)}
        />
        <Field
          name="note"
          label="Note"
          optional
          value={dialog.note ?? ""}
          maxLength={200}
          hint="Shown in the list of links: who it is for, say."
        />
      </>
    ),
  })
}
