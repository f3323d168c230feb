// Pages that are loaded when one of them is opened first, so that the dashboard's script stays small.
// Their styles are part of the dashboard's.

import { unreachable } from "../ask.ts"
import { elementOf, redraw } from "../elements/elements.ts"
import { Refused, Skeleton } from "../parts/refused.tsx"
import type { OpenView, View } from "./desk.ts"
import type * as laterPages from "./later-pages.ts"
import "./access/access.css"
import "./consents/consents.css"
import "./entry-list.css"
import "./lifetime/lifetime.css"
import "./people/people.css"
import "./policies/policies.css"

type LaterPages = typeof laterPages

/** A view of the later pages, which is told where it moves. */
export function later(title: string, name: keyof LaterPages): OpenView {
  return (desk, first) => {
    let at = first
    let view: View | undefined
    let isClosed = false
    const place = elementOf(
      <div aria-busy="true">
        <Skeleton />
      </div>,
    )
    void import("./later-pages.ts").then(
      (pages) => {
        if (isClosed) return
        place.removeAttribute("aria-busy")
        view = pages[name](desk, at)
        redraw(place, view.node)
      },
      // The service cannot be reached, or is another version by now.
      () => redraw(place, <Refused refusal={notLoaded} retry={() => location.reload()} />),
    )
    return {
      title,
      node: place,
      moved(to) {
        at = to
        view?.moved?.(to)
      },
      close() {
        isClosed = true
        view?.close?.()
      },
    }
  }
}

const { refusal: notLoaded } = unreachable("a part of this page was not loaded")
