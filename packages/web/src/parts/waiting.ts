/**
 * For a button whose action waits for the service: it looks busy meanwhile, and another click does
 * nothing.
 */
export function waiting(act: () => Promise<unknown>): (event: Event) => void {
  return ({ currentTarget: button }) => {
    if (!(button instanceof HTMLElement) || button.ariaBusy === "true") return
    button.ariaBusy = "true"
    void act().finally(() => (button.ariaBusy = null))
  }
}
