// Elements that JSX has made, and their place in the document.

export type Child = Node | string | number | boolean | null | undefined | readonly Child[]

export function elementOf(node: Node): HTMLElement {
  if (!(node instanceof HTMLElement)) throw new TypeError("this is one element")
  return node
}

/** Replaces the content of a place, and keeps the focus if its element still exists. */
export function redraw(place: Element, ...content: readonly Node[]): void {
  const root = rootOf(place)
  const focused = root?.activeElement
  const id = focused && place.contains(focused) ? focused.id : ""
  const open = [...place.querySelectorAll("details[open][id]")].map((details) => details.id)
  place.replaceChildren(...content)
  for (const details of open) root?.getElementById(details)?.setAttribute("open", "")
  if (id !== "") root?.getElementById(id)?.focus({ preventScroll: true })
}

/** The document or the shadow tree that a node is in; undefined before it is in one. */
export function rootOf(node: Node): Document | ShadowRoot | undefined {
  const root = node.getRootNode()
  return root instanceof Document || root instanceof ShadowRoot ? root : undefined
}

/** The button that had the focus is gone: what is there now begins with a title. */
export function focusTitle(place: ParentNode): void {
  const title = place.querySelector<HTMLElement>("h1, h2")
  if (title === null) return
  title.tabIndex = -1
  title.focus({ preventScroll: true })
}
