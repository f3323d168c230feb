// Everything about one person. The reader types the id once for all steps: the history, the
// consents, a link for the person, and a pack.

import { elementOf } from "../../elements/elements.ts"
import { Field, Form, textIn } from "../../parts/form.tsx"
import type { Desk, OpenView } from "../desk.ts"
import type { Place } from "../place.ts"
import { openPerson } from "./person.tsx"

export const openPeople: OpenView = (desk, place) => {
  const content = elementOf(<div class="about" />)
  let shown: { readonly id: string; readonly person: ReturnType<typeof openPerson> } | undefined
  const draw = ({ rest: [id = ""], query, isBack }: Place): void => {
    if (id !== shown?.id) {
      shown?.person.close()
      shown = id === "" ? undefined : { id, person: openPerson(desk, id) }
      content.replaceChildren(shown?.person.node ?? <Whom desk={desk} />)
    }
    shown?.person.show(query, isBack)
  }
  draw(place)
  return {
    title: "What is known of a person",
    node: content,
    moved: draw,
    close: () => shown?.person.close(),
  }
}

function Whom({ desk }: { readonly desk: Desk }) {
  const submit = async (values: FormData) => {
    const value = (textIn(values, "person") ?? "").trim()
    return { ok: true, value } as const
  }
  const open = (id: string): void => desk.go(desk.link(["people", id]))
  return (
    <section class="top">
      <h1>What is known of a person</h1>
      <p class="lead soft">
        Somebody asks what you hold about them. Here is all of it: what they did and what was done
        to them, what they agreed to, a link with which they see it themselves, and a pack to keep.
      </p>
      <Form action="Look" submit={submit} done={open}>
        <Field
          name="person"
          label="Person"
          isMono
          maxLength={400}
          hint="Their id, as your events name it. An e-mail address or a name finds the id."
        />
      </Form>
    </section>
  )
}
