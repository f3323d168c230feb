import type { Refusal } from "../ask.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { openDialog } from "./dialog.tsx"
import { Form } from "./form.tsx"

interface Confirmation {
  readonly title: string
  /** The consequences, in a sentence or two. */
  readonly says: Child
  readonly action: string
  readonly act: () => Promise<Refusal | undefined>
}

/** Asks before an action that cannot be undone. */
export function confirm({ title, says, action, act }: Confirmation): void {
  openDialog(title, (close) => {
    const submit = async (): Promise<Refusal | undefined> => {
      const refusal = await act()
      if (refusal === undefined) close()
      return refusal
    }
    return (
      <Form action={action} submit={submit} cancel={close}>
        <p class="soft">{says}</p>
      </Form>
    )
  })
}
