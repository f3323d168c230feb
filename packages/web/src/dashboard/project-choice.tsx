import type { Project, ProjectList } from "@tallystick/client/wire"
import { redraw } from "../elements/redraw.ts"
import { elementOf } from "../elements/element-of.ts"
import { Text } from "../parts/text.tsx"
import type { Desk } from "./desk.ts"

interface ProjectChoiceProps {
  readonly desk: Desk
  readonly project: string
  readonly href: (project: string) => string
}

/** Tabs, one for each project. */
export function ProjectChoice({ desk, project, href }: ProjectChoiceProps) {
  const place = elementOf(<nav class="tabs" aria-label="Project" />)
  void desk.get<ProjectList>(["projects"], { limit: 100 }).then((told) => {
    const names = told.ok ? told.value.projects.map(({ id }: Project) => id) : []
    redraw(
      place,
      ...[...new Set([project, ...names])].sort().map((id) => (
        <a href={href(id)} aria-current={id === project ? "page" : undefined}>
          <Text of={id} />
        </a>
      )),
    )
  })
  return place
}
