// A pack of everything that a person did and that was done to them. These are two searches, so
// their entries are gathered here, and the pack names their receipts.

import type { Pack } from "@tallystick/client/wire"
import { invalid, type Told } from "../../ask.ts"
import { elementOf, redraw } from "../../elements/elements.ts"
import { counted } from "../../parts/counted.ts"
import { Field, Form, textIn } from "../../parts/form.tsx"
import type { Desk } from "../desk.ts"
import { loadHistory, sidesOf } from "../things/both-sides.ts"

/** The service's limit. */
const packReceiptsMax = 10_000

export function PackOfPerson({ desk, id }: { readonly desk: Desk; readonly id: string }) {
  const status = elementOf(<p class="soft small" role="status" />)
  const submit = async (values: FormData): Promise<Told<Pack>> => {
    const gathered = await gather(desk, id, (count) =>
      redraw(status, <>{counted(count, "entry", "entries")} gathered</>),
    )
    if (!gathered.ok) return gathered
    const pack = { title: textIn(values, "title"), receiptIds: gathered.value }
    return desk.send<Pack>("POST", ["evidence-packs"], pack)
  }
  const open = ({ packId }: Pack): void => {
    const href = desk.link(["packs", packId])
    // The reader may have gone on to something else.
    if (status.isConnected) desk.go(href)
    else redraw(status, <a href={href}>The pack is made</a>)
  }
  return (
    <>
      <h2>All of it, to keep</h2>
      <p class="soft">
        A pack of every entry of the history that you may read. Whoever has it checks it without
        this service, and reads the names and e-mails of everybody in it: those of others, too.
      </p>
      <Form action="Make the pack" submit={submit} done={open}>
        <Field
          name="title"
          label="Title"
          value={`What is known of ${id}`.slice(0, 200)}
          maxLength={200}
        />
        {status}
      </Form>
    </>
  )
}

async function gather(
  desk: Desk,
  id: string,
  tell: (count: number) => void,
): Promise<Told<readonly string[]>> {
  const load = loadHistory(desk, { id }, sidesOf(null), false)
  const receiptIds: string[] = []
  for (let cursor = 0; ;) {
    const told = await load(cursor, 100)
    if (!told.ok) return told
    receiptIds.push(...told.value.events.map(({ receipt }) => receipt))
    tell(receiptIds.length)
    if (receiptIds.length > packReceiptsMax)
      return invalid("these are more than 10,000 entries: make packs of searches under Events")
    if (!told.value.hasMore) break
    cursor = told.value.nextCursor
  }
  return receiptIds.length === 0 ? invalid("no entry has this id") : { ok: true, value: receiptIds }
}
