import type { Phrase, Project, ProjectList, Workspace } from "@tallystick/client/wire"
import { invalid } from "../../ask.ts"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button } from "../../parts/button.tsx"
import { openForm } from "../../parts/dialog.tsx"
import { Check, Choice, Field, Form, textIn } from "../../parts/form.tsx"
import { Skeleton } from "../../parts/refused.tsx"
import { showTold } from "../../parts/show-told.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text, Unseen } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { lanes } from "../events/asked.ts"
import { listedTable } from "../listed-table.tsx"

export const openSettings: OpenView = (desk) => ({
  title: "Settings",
  node: (
    <>
      <section class="top">
        <h1>Settings</h1>
        <p class="lead soft">
          Every change here is an entry of this workspace's own ledger, with who made it.
        </p>
        <Projects desk={desk} />
      </section>
      {workspacePart(desk)}
    </>
  ),
})

// Projects --------------------------------------------------------------------------------------------

function Projects({ desk }: { readonly desk: Desk }) {
  const list = listedTable(desk, {
    path: ["projects"],
    itemsOf: ({ projects }: ProjectList) => projects,
    columns: (reload) => columns(desk, reload),
    empty: "There is none yet.",
  })
  return (
    <>
      <h2>Projects</h2>
      {desk.isAdmin && (
        <p class="actions">
          <Button onClick={() => openProject(desk, undefined, () => list.reload())}>
            New project
          </Button>
        </p>
      )}
      {list.node}
    </>
  )
}

function columns(desk: Desk, changed: () => void): readonly Column<Project>[] {
  return [
    {
      name: "Project",
      isPlain: true,
      draw: ({ id, name = id }) => (
        <>
          <Text of={id} in="a" href={desk.link(["events"], { projectId: id })} />
          {name !== id && <Below of={name} />}
        </>
      ),
    },
    {
      name: "Receipts",
      draw: ({ receipts }) => (receipts === "public" ? "public: anyone with an id" : "private"),
    },
    { name: "Activity links", draw: ({ activityLinks }) => (activityLinks ? "allowed" : "off") },
    { name: "Since", draw: ({ createdAt }) => <Time at={createdAt} form="date" /> },
    {
      name: "Change",
      isEnd: true,
      draw: (project) =>
        desk.isAdmin && (
          <Button kind="plain" onClick={() => openProject(desk, project, changed)}>
            Change
            <Unseen of={project.id} />
          </Button>
        ),
    },
  ]
}

function openProject(desk: Desk, project: Project | undefined, changed: () => void): void {
  openForm({
    title: project === undefined ? "New project" : `Project ${project.id}`,
    action: project === undefined ? "Make it" : "Save",
    async submit(values) {
      const phrases = readPhrases(textIn(values, "phrases") ?? "")
      if (typeof phrases === "string") return invalid(phrases)
      const change = {
        name: textIn(values, "name"),
        receipts: textIn(values, "receipts"),
        activityLinks: values.has("activityLinks"),
        phrases,
      }
      return project === undefined
        ? desk.send("POST", ["projects"], { id: textIn(values, "id"), ...change })
        : desk.send("PATCH", ["projects", project.id], changesTo(project, change))
    },
    done: changed,
    children: (
      <>
        {project === undefined && <Field name="id" label="Id" isMono maxLength={64} />}
        <Field name="name" label="Name" optional value={project?.name ?? ""} maxLength={200} />
        <Choice
          name="receipts"
          label="Receipts"
          value={project?.receipts ?? "private"}
          options={[
            ["private", "Private: for members, and whoever has a link"],
            ["public", "Public: anyone who has a receipt's id may read it"],
          ]}
        />
        <Check
          name="activityLinks"
          isChecked={project?.activityLinks ?? false}
          label="People may be given links to their own activity"
        />
        <Field
          name="phrases"
          label="Actions in plain words"
          type="textarea"
          optional
          value={project?.phrases.map(({ action, text }) => `${action} ${text}`).join("\n") ?? ""}
          placeholder={
            "invoice.document.viewed Your invoice was looked at\nplan.renewed Renewed the plan"
          }
          hint="One action a line, and what people read of it in their activity. Others are shown by their names."
        />
      </>
    ),
  })
}

/**
 * Only what differs from what the form began with: another admin may have changed the rest meanwhile.
 */
function changesTo(before: object, wanted: object): object {
  const known = new Map(Object.entries(before))
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(known.get(name)),
    ),
  )
}

/** Or the sentence that says which line is none. */
function readPhrases(lines: string): readonly Phrase[] | string {
  const phrases: Phrase[] = []
  for (const line of linesOf(lines)) {
    const [, action, text] = /^(\S+)\s+(.+)$/.exec(line) ?? []
    if (action === undefined || text === undefined)
      return `“${line}” is no phrase: it must be an action, a space, and a text`
    phrases.push({ action, text })
  }
  return phrases
}

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
}

// The workspace ---------------------------------------------------------------------------------------

function workspacePart(desk: Desk): Node {
  const place = elementOf(<section />)
  place.append(<Skeleton />)
  void showTold(
    place,
    () => desk.get<Workspace>([]),
    (workspace) => <WorkspaceForm desk={desk} workspace={workspace} />,
  )
  return place
}

function WorkspaceForm({
  desk,
  workspace,
}: {
  readonly desk: Desk
  readonly workspace: Workspace
}) {
  let shown: object = workspace
  const saved = elementOf(<p class="soft small" role="status" />)
  const submit = async (values: FormData) => {
    redraw(saved)
    const laneRules = readRules(textIn(values, "laneRules") ?? "")
    if (typeof laneRules === "string") return invalid(laneRules)
    const wanted = {
      name: textIn(values, "name"),
      policyVisibility: textIn(values, "policyVisibility"),
      projects: textIn(values, "projects"),
      transparency: textIn(values, "transparency"),
      hotDays: Number(textIn(values, "hotDays")),
      projectsMax: Number(textIn(values, "projectsMax")),
      requirePublishedPolicy: values.has("requirePublishedPolicy"),
      personalKeys: (textIn(values, "personalKeys") ?? "")
        .split(/[\s,]+/)
        .filter((key) => key !== ""),
      laneRules,
    }
    const told = await desk.send("PATCH", [], changesTo(shown, wanted))
    if (told.ok) shown = { ...shown, ...wanted }
    return told
  }
  return (
    <>
      <h2>
        Workspace <Text of={workspace.id} />
      </h2>
      {desk.isAdmin ? (
        <>
          <Form
            action="Save"
            submit={submit}
            isWork
            done={() => redraw(saved, <>The settings are saved.</>)}
          >
            <WorkspaceFields workspace={workspace} />
          </Form>
          {saved}
        </>
      ) : (
        <p class="soft">An admin of this workspace changes its settings.</p>
      )}
    </>
  )
}

function WorkspaceFields({ workspace }: { readonly workspace: Workspace }) {
  return (
    <>
      <Field name="name" label="Name" optional value={workspace.name ?? ""} maxLength={200} />
      <Choice
        name="policyVisibility"
        label="Policies"
        value={workspace.policyVisibility}
        options={[
          ["private", "Private: for members, and whoever has a link"],
          ["public", "Public: anyone may read them"],
        ]}
      />
      <Choice
        name="transparency"
        label="The log of hashes"
        value={workspace.transparency}
        options={[
          ["private", "Private: for members and keys"],
          ["public", "Public: anyone may watch it. It holds hashes, and no content"],
        ]}
      />
      <Choice
        name="projects"
        label="New projects"
        value={workspace.projects}
        options={[
          ["open", "Made by the first event that names them"],
          ["closed", "Made by admins alone"],
        ]}
      />
      <div class="form-pair">
        <Field
          name="projectsMax"
          label="Projects at most"
          type="number"
          min={1}
          value={workspace.projectsMax}
        />
        <Field
          name="hotDays"
          label="Days until the archive"
          type="number"
          min={0}
          value={workspace.hotDays}
        />
      </div>
      <Check
        name="requirePublishedPolicy"
        isChecked={workspace.requirePublishedPolicy}
        label="Consents must name a published policy"
      />
      <Field
        name="personalKeys"
        label="Personal members of metadata"
        optional
        isMono
        value={workspace.personalKeys.join(" ")}
        hint="Sealed from now on, so that they can be withheld. A star stands for all."
      />
      <Field
        name="laneRules"
        label="Lanes"
        type="textarea"
        optional
        isMono
        value={workspace.laneRules.map(({ prefix, lane }) => `${prefix} ${lane}`).join("\n")}
        placeholder={"billing.refund security\nreport data"}
        hint={`One rule a line: a prefix of actions, and ${lanes.join(", ")}. They come before the usual ones.`}
      />
    </>
  )
}

/** Or the sentence that says which line is none. */
function readRules(text: string): readonly object[] | string {
  const rules: object[] = []
  for (const line of linesOf(text)) {
    const [prefix, lane, ...more] = line.split(/\s+/)
    if (!lanes.some((each) => each === lane) || more.length > 0)
      return `“${line}” is no rule: it must be a prefix and one of ${lanes.join(", ")}`
    rules.push({ prefix, lane })
  }
  return rules
}
