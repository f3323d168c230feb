/** A link, button or menu that is drawn again takes the focus again. Without it, a screen reader is lost. */
export function keepFocus(signal: AbortSignal): void {
  let last: EventTarget | null = null
  const drawn = (): void => {
    if (!(last instanceof HTMLElement) || last.isConnected) return
    const name = nameOf(last)
    last = null
    if (document.activeElement !== document.body) return
    const same = [...document.querySelectorAll<HTMLElement>("a, button, select")].filter(
      (each) => nameOf(each) === name && each.checkVisibility(),
    )
    if (same.length === 1) same[0]?.focus({ preventScroll: true })
  }
  addEventListener("focusin", ({ target }) => (last = target), { signal })
  const observer = new MutationObserver(drawn)
  observer.observe(document.body, { childList: true, subtree: true })
  signal.addEventListener("abort", () => observer.disconnect())
}

function nameOf(element: HTMLElement): string {
  const address = element instanceof HTMLAnchorElement ? element.href : ""
  return `${address} ${element.ariaLabel ?? element.textContent.trim()}`
}
