// A link that opens one thing for somebody without an account: made for a time, shown once.

import type { Refusal } from "../ask.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { openDialog } from "../parts/dialog.tsx"
import { Choice, Field, Form, orRefusal, textIn } from "../parts/form.tsx"
import { elementOf } from "../parts/page.tsx"
import { Secret, showSecret } from "../parts/secret.tsx"
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
  /** The endpoint that makes it. */
  readonly path: readonly string[]
  readonly bodyOf?: (values: FormData) => object
  readonly note?: string | undefined
  readonly daysUsual: number
  readonly daysMax: number
  readonly address: (created: Created) => string
  /** What the link allows. */
  readonly opens: Child
  /** Called when the link was made. */
  readonly made?: (() => void) | undefined
}

export function openLinkDialog<Created>(desk: Desk, dialog: LinkDialog<Created>): void {
  const { title, children, path, bodyOf, daysUsual, daysMax, address } = dialog
  const { opens, made } = dialog
  openDialog(title, (close) => {
    const place = elementOf(<div />)
    const submit = (values: FormData): Promise<Refusal | undefined> => {
      const note = textIn(values, "note")
      const asked = desk.send<Created>("POST", path, {
        ...bodyOf?.(values),
        expiresInSeconds: Number(textIn(values, "lifetime")),
        ...(note !== undefined && { note }),
      })
      return orRefusal(asked, (created) => {
        made?.()
        showSecret(
          place,
          <Secret secret={address(created)} label="Copy link" stored={close}>
            <p>{opens}</p>
          </Secret>,
        )
      })
    }
    place.append(
      <Form action="Make the link" submit={submit} cancel={close}>
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
      </Form>,
    )
    return place
  })
}
