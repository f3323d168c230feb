// Parts of a page are often refused at once, for one cause. The first says all of it, the others
// that they are not loaded either; its button tries all of them again.

import type { Refusal } from "../ask.ts"
import { elementOf } from "../elements/elements.ts"
import type { Child } from "../elements/jsx-runtime.ts"
import { Button } from "./button.tsx"
import { Refused } from "./refused.tsx"

interface RefusedPartProps {
  readonly refusal: Refusal
  readonly retry: () => void
}

interface SharedRefusalProps extends RefusedPartProps {
  /** Draws all of it, with what its button does. */
  readonly draw: (retryAll: () => void) => Child
}

interface Part {
  readonly cause: string
  readonly retry: () => void
  /** Says no more than that it is not loaded. */
  readonly shorten: () => void
}

const parts = new WeakMap<Element, Part>()

/** Those of a page with this cause, in its order. */
function partsOf(cause: string): readonly Part[] {
  return [...document.querySelectorAll("#main .refused-part")]
    .flatMap((node) => parts.get(node) ?? [])
    .filter((part) => part.cause === cause)
}

/** `isPart`: the page has another title. */
export function RefusedPart({
  refusal,
  retry,
  isPart = true,
}: RefusedPartProps & { readonly isPart?: boolean }) {
  return (
    <SharedRefusal
      refusal={refusal}
      retry={retry}
      draw={(retryAll) => <Refused refusal={refusal} retry={retryAll} isPart={isPart} />}
    />
  )
}

export function SharedRefusal({ refusal: { status, code }, retry, draw }: SharedRefusalProps) {
  const cause = `${status} ${code}`
  const retryAll = (): void => {
    for (const part of partsOf(cause)) part.retry()
  }
  const node = elementOf(<div class="refused-part refused-whole">{draw(retryAll)}</div>)
  const shorten = (): void => {
    node.classList.remove("refused-whole")
    node.replaceChildren(
      <p class="small soft">
        Not loaded either.{" "}
        <Button kind="plain" onClick={retry}>
          Try again
        </Button>
      </p>,
    )
  }
  parts.set(node, { cause, retry, shorten })
  // By then it stands in the page.
  queueMicrotask(() => {
    for (const part of partsOf(cause).slice(1)) part.shorten()
  })
  return node
}
