import { Verdict } from "../parts/verdict.tsx"

/** Shown instead of a part of a page. */
export function NotAdmin() {
  return (
    <section class="top">
      <Verdict tone="neutral" title="For admins of this workspace" isPart>
        <p>An admin sees and changes this, and can make you one under Access, Members.</p>
      </Verdict>
    </section>
  )
}
