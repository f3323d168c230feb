// A link to one receipt for somebody without an account: shown once.

import type { CreatedReceiptToken } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import { openDialog } from "../../parts/dialog.tsx"
import { redraw } from "../../elements/redraw.ts"
import { Choice, Field, Form, textIn } from "../../parts/form.tsx"
import { elementOf } from "../../parts/page.tsx"
import { Secret } from "../../parts/secret.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk } from "../desk.ts"

const day = 86_400
const lifetimes = [
  [String(day), "1 day"],
  [String(7 * day), "7 days"],
  [String(30 * day), "30 days"],
  [String(90 * day), "90 days"],
] as const

export function openTokenDialog(desk: Desk, receipt: string): void {
  openDialog("Share this receipt", (close) => {
    const place = elementOf(<div />)
    const submit = async (values: FormData): Promise<Refusal | undefined> => {
      const note = textIn(values, "note")
      const told = await desk.send<CreatedReceiptToken>("POST", ["receipts", receipt, "token"], {
        expiresInSeconds: Number(textIn(values, "lifetime")),
        ...(note !== undefined && { note }),
      })
      if (!told.ok) return told.refusal
      const { verificationUrl, expiresAt } = told.value
      redraw(
        place,
        <Secret secret={verificationUrl} label="Copy link" stored={close}>
          <p>
            Whoever has this link sees this receipt and its proof until{" "}
            <Time at={expiresAt} form="whole" />.
          </p>
        </Secret>,
      )
      place.querySelector("button")?.focus()
      return undefined
    }
    place.append(
      <p class="soft">A link that opens this one receipt, for somebody without an account.</p>,
      <Form action="Make the link" submit={submit} cancel={close}>
        <Choice name="lifetime" label="It works for" options={lifetimes} value={lifetimes[1][0]} />
        <Field
          name="note"
          label="Note"
          optional
          maxLength={200}
          hint="Shown in the list of links."
        />
      </Form>,
    )
    return place
  })
}
