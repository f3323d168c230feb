// Pages and parts that are loaded when they are opened first, so that the dashboard's script stays
// small. Their styles are part of the dashboard's.

import { unreachable } from "../ask.ts"
import { elementOf, redraw, type Child } from "../elements/elements.ts"
import { Refused, Skeleton } from "../parts/refused.tsx"
import type { OpenView, View } from "./desk.ts"
import type * as laterPages from "./later-pages.ts"
import "./consents/consents.css"
import "./lifetime/lifetime.css"
import "./policies/policies.css"

type LaterPages = typeof laterPages

/** A view of the later pages, which is told where it moves. */
export function later(title: string, name: Exclude<keyof LaterPages, "ConsentLookUp">): OpenView {
  return (desk, place) => {
    let at = place
    let view: View | undefined
    let isClosed = false
    const draw = (pages: LaterPages): Child => {
      if (!isClosed) view = pages[name](desk, at)
      return view?.node
    }
    return {
      title,
      node: <LaterPart draw={draw} />,
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

/** A part of a page. */
export function LaterPart({ draw }: { readonly draw: (pages: LaterPages) => Child }) {
  const place = elementOf(<div aria-busy="true" />)
  place.append(<Skeleton />)
  void import("./later-pages.ts").then(
    (pages) => {
      place.removeAttribute("aria-busy")
      redraw(place, <>{draw(pages)}</>)
    },
    // The service cannot be reached, or is another version by now.
    () => redraw(place, <Refused refusal={notLoaded} retry={() => location.reload()} />),
  )
  return place
}

const { refusal: notLoaded } = unreachable("a part of this page was not loaded")
