import type { Refusal } from "../ask.ts"
import { elementOf, redraw } from "../elements/elements.ts"
import { Choice, RefusedLine } from "../parts/form.tsx"
import { Text } from "../parts/text.tsx"
import type { Desk } from "./desk.ts"
import { everyProject } from "./every-item.ts"
import { Tabs } from "./tabs.tsx"

interface Chosen {
  readonly project: string
  readonly href: (project: string) => string
}

/** More would not be seen at once. */
const tabsMax = 8

/** Tabs, one for each project; a menu if they are many. */
export function projectChoice(desk: Desk) {
  const node = elementOf(<div class="project-choice" />)
  let chosen: Chosen | undefined
  let known: readonly string[] = []
  let refusal: Refusal | undefined
  async function load(): Promise<void> {
    const told = await everyProject(desk)
    refusal = told.ok ? undefined : told.refusal
    if (told.ok) known = told.value.map(({ id }) => id)
    draw()
  }
  function draw(): void {
    if (chosen === undefined) return
    const { project, href } = chosen
    const ids = [...new Set([project, ...known])].sort()
    redraw(
      node,
      ids.length > tabsMax ? (
        <Choice
          name="project"
          label="Project"
          value={project}
          options={ids.map((id) => [id, id])}
        />
      ) : (
        <Tabs
          label="Project"
          tabs={ids.map((id) => [id, <Text of={id} />])}
          href={href}
          current={project}
        />
      ),
      <>{refusal && <RefusedLine refusal={refusal} retry={() => void load()} />}</>,
    )
  }
  node.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLSelectElement && chosen) desk.go(chosen.href(target.value))
  })
  void load()
  return {
    node,
    show(next: Chosen): void {
      chosen = next
      draw()
    },
  }
}
