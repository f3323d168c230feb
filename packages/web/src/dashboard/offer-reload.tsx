import { Button } from "../parts/button.tsx"
import { State } from "../parts/verdict.tsx"

/** Says once, above every page, that a script which pages share was not loaded. */
export function offerReload(): void {
  if (document.querySelector(".not-whole") !== null) return
  document.getElementById("main")?.before(
    <div role="alert">
      <State in="p" class="not-whole" tone="attention">
        Nothing is checked here: the program that does it was not loaded. The service cannot be
        reached, or has another version by now.{" "}
        <Button kind="plain" onClick={() => location.reload()}>
          Load the page again
        </Button>
      </State>
    </div>,
  )
}
