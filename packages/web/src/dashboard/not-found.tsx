import { Verdict } from "../parts/verdict.tsx"
import type { OpenView } from "./desk.ts"

export const openNotFound: OpenView = (desk) => ({
  title: "Not found",
  node: (
    <section class="top">
      <Verdict tone="neutral" title="There is no such page">
        <p>
          <a href={desk.link(["overview"])}>Go to the overview</a>
        </p>
      </Verdict>
    </section>
  ),
})
