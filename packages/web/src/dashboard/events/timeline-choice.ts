// The selection of buckets in a timeline, by keys or by the pointer.

interface ChoiceParts {
  readonly plot: HTMLElement
  readonly count: () => number
  readonly say: (chosen: Chosen) => void
  readonly zoom: (first: number, last: number) => void
  readonly undo: () => void
}

export interface Chosen {
  readonly at: number
  readonly first: number
  readonly last: number
  /** The bucket under the pointer. */
  readonly pointed?: number
}

export function choosing({ plot, count, say, zoom, undo }: ChoiceParts) {
  let at = 0
  /** The other end of the selection. */
  let anchor = 0
  const chosen = (): Chosen => ({ at, first: Math.min(at, anchor), last: Math.max(at, anchor) })
  const tell = (): void => say(chosen())

  function move(to: number, isSelecting: boolean): void {
    at = Math.max(0, Math.min(to, count() - 1))
    if (!isSelecting) anchor = at
    tell()
  }
  function zoomIn(): void {
    const { first, last } = chosen()
    zoom(first, last)
    anchor = at
  }
  function pressed(event: KeyboardEvent): void {
    const { key, shiftKey } = event
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: Infinity,
    }
    const to = steps[key]
    if (to !== undefined) move(to, shiftKey)
    else if (key === "Enter") zoomIn()
    else if (key === "Escape" && at !== anchor) move(at, false)
    else if (key === "Escape") undo()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const bucketAt = ({ clientX }: PointerEvent): number => {
    const { left, width } = plot.getBoundingClientRect()
    return Math.max(0, Math.min(Math.floor(((clientX - left) / width) * count()), count() - 1))
  }
  plot.addEventListener("keydown", pressed)
  plot.addEventListener("pointerdown", (event) => {
    plot.setPointerCapture(event.pointerId)
    move(bucketAt(event), event.shiftKey)
  })
  plot.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) move(bucketAt(event), true)
    else say({ ...chosen(), pointed: bucketAt(event) })
  })
  plot.addEventListener("pointerup", () => at !== anchor && zoomIn())
  for (const type of ["pointerleave", "focus", "blur"]) plot.addEventListener(type, tell)
  return {
    begin(): void {
      at = anchor = Math.min(at, Math.max(0, count() - 1))
      tell()
    },
  }
}
