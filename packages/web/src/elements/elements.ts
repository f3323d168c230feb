// Elements that JSX has made, and their place in the document.

export function elementOf(node: Node): HTMLElement {
  if (!(node instanceof HTMLElement)) throw new TypeError("this is one element")
  return node
}

/**
 * Replaces the content of a place. A focus in it stays on the element with that id, or goes to the
 * verdict.
 */
export function redraw(place: Element, ...content: readonly Node[]): void {
  const root = rootOf(place)
  const focused = root?.activeElement
  const id = focused && place.contains(focused) ? focused.id : undefined
  const open = [...place.querySelectorAll("details[open][id]")].map((details) => details.id)
  place.replaceChildren(...content)
  for (const details of open) root?.getElementById(details)?.setAttribute("open", "")
  if (id === undefined) return
  const focus = (next: HTMLElement | null | undefined) => next?.focus({ preventScroll: true })
  focus(root?.getElementById(id))
  // After what finds it by its name.
  queueMicrotask(() => {
    if (document.activeElement === document.body) focus(place.querySelector("[tabindex='-1']"))
  })
}

/** The document or the shadow tree that a node is in; undefined before it is in one. */
export function rootOf(node: Node): Document | ShadowRoot | undefined {
  const root = node.getRootNode()
  return root instanceof Document || root instanceof ShadowRoot ? root : undefined
}
