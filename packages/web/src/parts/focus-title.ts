/** The button that had the focus is gone: what is there now begins with a title. */
export function focusTitle(place: ParentNode): void {
  const title = place.querySelector<HTMLElement>("h1, h2")
  if (title === null) return
  title.tabIndex = -1
  title.focus({ preventScroll: true })
}
