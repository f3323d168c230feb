/** Puts other content into a place, and keeps the keyboard where it was if that is still there. */
export function redraw(place: Element, ...content: readonly Node[]): void {
  const { activeElement } = document
  const focused = activeElement !== null && place.contains(activeElement) ? activeElement.id : ""
  const open = [...place.querySelectorAll("details[open][id]")].map(({ id }) => id)
  place.replaceChildren(...content)
  for (const id of open) document.getElementById(id)?.setAttribute("open", "")
  if (focused !== "") document.getElementById(focused)?.focus({ preventScroll: true })
}
