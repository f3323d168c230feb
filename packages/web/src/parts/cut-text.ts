/** Text that its place cuts off is shown whole, as a title, when somebody points at it. */
export function showCutText({ target }: Event): void {
  let place = target instanceof HTMLElement ? target : null
  for (let steps = 0; place !== null && steps < 3; steps++, place = place.parentElement) {
    const isCut = place.scrollWidth > place.clientWidth
    if (!isCut || getComputedStyle(place).textOverflow !== "ellipsis") continue
    if (place.title === "") place.title = place.textContent
    return
  }
}
