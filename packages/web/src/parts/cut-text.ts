/** Shows truncated text in full, as a title, under the pointer. */
export function showCutText({ target }: Event): void {
  let place = target instanceof HTMLElement ? target : null
  for (let steps = 0; place !== null && steps < 3; steps++, place = place.parentElement) {
    const isCut = place.scrollWidth > place.clientWidth
    if (!isCut || getComputedStyle(place).textOverflow !== "ellipsis") continue
    if (place.title === "") place.title = place.textContent
    return
  }
}
