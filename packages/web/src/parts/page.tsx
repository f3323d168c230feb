// The frame of a page: bar, theme, and the main part.

import { printable } from "@tallystick/proof"
import { elementOf, redraw, type Child } from "../elements/elements.ts"
import { keepText } from "../kept.ts"
import { Mark, ThemeIcon } from "./icon.tsx"
import { Text } from "./text.tsx"
import { ZoneToggle } from "./time.tsx"

export type Page = ReturnType<typeof openPage>

interface PageOptions {
  /** The owner of the page, instead of our name, because the reader knows them and not us. */
  readonly owner?: string
  readonly beside?: Child
  readonly zoneChanged?: () => void
}

export function openPage({ owner, beside, zoneChanged }: PageOptions = {}) {
  const about = elementOf(<span class="about" />)
  const main = elementOf(<main id="main" tabIndex={-1} />)
  const bar = elementOf(
    <header class="bar">
      <span class="brand">
        {owner === undefined ? (
          <>
            <Mark /> tallystick
          </>
        ) : (
          <Text of={owner} />
        )}
      </span>
      {about}
      <div class="end">
        {beside}
        <ZoneToggle changed={zoneChanged} />
        <ThemeToggle />
      </div>
    </header>,
  )
  fillPage(bar, main)
  return {
    show: (...content: readonly Node[]) => redraw(main, ...content),
    /** The owner of the page, next to the name. */
    about: (child: Child) => about.replaceChildren(<>{child}</>),
    /** Shows a progress line at the top while a request is running; the content stays. */
    working(isWorking: boolean): void {
      bar.classList.toggle("working", isWorking)
      main.setAttribute("aria-busy", String(isWorking))
    },
  }
}

/** Replaces the server's HTML. */
export function fillPage(bar: Node, main: Node): void {
  document.getElementById("page")?.replaceChildren(
    <a class="skip" href="#main">
      Skip to content
    </a>,
    bar,
    main,
    spoken,
  )
}

const spoken = elementOf(<p class="unseen" role="status" />)

/** Announces changes to screen readers. */
export function announce(text: string): void {
  spoken.textContent = printable(text)
}

/** Empty: follows the system. */
const theme = keepText("theme")

export function ThemeToggle() {
  const isDark = (): boolean =>
    theme.get() === "" ? matchMedia("(prefers-color-scheme: dark)").matches : theme.get() === "dark"
  const button = elementOf(
    <button
      type="button"
      class="icon-button"
      onClick={() => theme.set(isDark() ? "light" : "dark")}
    >
      <ThemeIcon />
    </button>,
  )
  const name = (): void => {
    if (theme.get() !== "") document.documentElement.dataset["theme"] = theme.get()
    button.ariaLabel = button.title = isDark() ? "Light theme" : "Dark theme"
  }
  name()
  theme.watch(name)
  return button
}
