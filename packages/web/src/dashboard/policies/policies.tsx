// Policies: the versions of each project, a new one, and who may read them.

import type {
  CreatedPolicyToken,
  NewPolicy,
  Policy,
  PolicyAnswer,
  PolicyList,
  PolicySection,
  PolicyVersion,
  Workspace,
} from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Button, waiting } from "../../parts/button.tsx"
import { number } from "../../parts/counted.ts"
import { asksBefore, confirm } from "../../parts/dialog.tsx"
import { formRows } from "../../parts/form-rows.tsx"
import { Field, Form, RefusedLine } from "../../parts/form.tsx"
import { Hash } from "../../parts/hash.tsx"
import { announce } from "../../parts/page.tsx"
import { showTold } from "../../parts/show-told.tsx"
import type { Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { root } from "../../place.ts"
import { Differences } from "../../policy/differences.tsx"
import type { Desk, OpenView } from "../desk.ts"
import { listedTable, type ListedTable } from "../listed-table.tsx"
import { openLinkDialog } from "../link-dialog.tsx"
import { projectChoice } from "../project-choice.tsx"

export const openPolicies: OpenView = (desk, place) => {
  const content = elementOf(<div />)
  const choice = projectChoice(desk)
  const draw = (project: string): void => {
    choice.show({ project, href: (each) => desk.link(["policies", each]) })
    content.replaceChildren(<Versions desk={desk} project={project} />)
  }
  draw(place.rest[0] ?? "core")
  return {
    title: "Policies",
    node: (
      <section class="top policies">
        <h1>Policies</h1>
        <p class="lead soft">
          What people agree to. A published version never changes; events are recorded under the
          newest, and consents name theirs.
        </p>
        <Visibility desk={desk} />
        {choice.node}
        {content}
      </section>
    ),
    moved: ({ rest }) => draw(rest[0] ?? "core"),
  }
}

/** One setting for all policies of the workspace. */
function Visibility({ desk }: { readonly desk: Desk }) {
  const place = elementOf(<p class="state small" />)
  const change = (isPublic: boolean, changed: () => void): void =>
    confirm({
      title: isPublic ? "Make policies private?" : "Make policies public?",
      says: isPublic
        ? "Only members and whoever has a link read them then."
        : "Anyone may then read every version of every policy of this workspace, without an account.",
      action: isPublic ? "Make them private" : "Make them public",
      act: () => desk.send("PATCH", [], { policyVisibility: isPublic ? "private" : "public" }),
      done: changed,
    })
  void showTold(
    place,
    () => desk.get<Workspace>([]),
    ({ policyVisibility }, again) => {
      const isPublic = policyVisibility === "public"
      return (
        <span>
          {isPublic ? "Anyone may read them." : "They are private: links open them."}{" "}
          {desk.isAdmin && (
            <Button kind="plain" onClick={() => change(isPublic, again)}>
              {isPublic ? "Make them private" : "Make them public"}
            </Button>
          )}
        </span>
      )
    },
  )
  return place
}

interface OfProject {
  readonly desk: Desk
  readonly project: string
}

function Versions({ desk, project }: OfProject) {
  const editor = elementOf(<div />)
  const list = listedTable(desk, {
    path: ["published-policy"],
    query: { projectId: project },
    itemsOf: ({ policies }: PolicyList) => policies,
    columns: () => columns(desk),
    empty: "This project has no policy yet.",
  })
  return (
    <>
      <p class="actions">
        {desk.isAdmin && (
          <Button kind="main" onClick={waiting(() => openEditor(editor, { desk, project }, list))}>
            New version
          </Button>
        )}
        <Button onClick={() => openLink(desk, project)}>Link to the policy</Button>
      </p>
      {editor}
      {list.node}
    </>
  )
}

function columns(desk: Desk): readonly Column<PolicyVersion>[] {
  return [
    { name: "Version", draw: ({ version }) => <b>{version}</b> },
    { name: "Published", draw: ({ publishedAt }) => <Time at={publishedAt} /> },
    { name: "Hash of its text", draw: ({ sectionHash }) => <Hash of={sectionHash} short /> },
    { name: "Consents", draw: (each) => <ConsentCount desk={desk} version={each} /> },
    {
      name: "Open",
      isEnd: true,
      draw: (each) => (
        <>
          <a href={pageOf(each)}>
            Read<span class="unseen"> version {each.version}</span>
          </a>
          {each.version > 1 && (
            <>
              {" · "}
              <a href={pageOf(each, each.version - 1)}>
                What is new<span class="unseen"> in version {each.version}</span>
              </a>
            </>
          )}
        </>
      ),
    },
  ]
}

/** The public page; a session can open it too. */
function pageOf({ workspaceId, projectId, version }: PolicyVersion, compare?: number): string {
  const url = new URL(`p/${encodeURIComponent(workspaceId)}/${version}`, root)
  url.searchParams.set("projectId", projectId)
  if (compare !== undefined) url.searchParams.set("compare", String(compare))
  return url.href
}

/** Visible only to people who sign in. */
function ConsentCount({ desk, version }: { readonly desk: Desk; readonly version: PolicyVersion }) {
  const place = elementOf(<span class="quiet">…</span>)
  const target = `${version.projectId}:${version.version}`
  void desk
    .get<{ readonly total: number }>(["events"], {
      query: `kind:consent target:"${target}"`,
      projectId: "all",
      storage: "all",
      limit: 1,
    })
    .then((told) => (place.textContent = told.ok ? number(told.value.total) : "–"))
  return place
}

function openLink(desk: Desk, project: string): void {
  openLinkDialog<CreatedPolicyToken>(desk, {
    title: "Link to the policy",
    path: ["published-policy", "token"],
    bodyOf: () => ({ projectId: project }),
    daysUsual: 30,
    daysMax: 365,
    address: ({ policyUrl }) => policyUrl,
    opens: "Whoever opens this link reads every version of this project's policy.",
    children: (
      <p class="soft">
        The policy of <Text of={project} />, for somebody who does not sign in here.
      </p>
    ),
  })
}

// A new version ---------------------------------------------------------------------------------------

async function newestOf({ desk, project }: OfProject): Promise<Told<Policy | undefined>> {
  const ofProject = { projectId: project }
  const listed = await desk.get<PolicyList>(["published-policy"], { ...ofProject, limit: 1 })
  if (!listed.ok) return listed
  const [newest] = listed.value.policies
  if (newest === undefined) return { ok: true, value: undefined }
  const version = String(newest.version)
  const told = await desk.get<PolicyAnswer>(["published-policy", version], ofProject)
  return told.ok ? { ok: true, value: told.value.policy } : told
}

/** Begins with the text of the newest version, because most changes are small. */
async function openEditor(place: HTMLElement, of: OfProject, list: ListedTable): Promise<void> {
  const told = await newestOf(of)
  // What was typed stays.
  if (place.querySelector(".editor") !== null) return place.querySelector("input")?.focus()
  const again = (): void => void openEditor(place, of, list)
  if (!told.ok) return redraw(place, <RefusedLine refusal={told.refusal} retry={again} />)
  const newest = told.value
  const difference = elementOf(<div class="policy-difference" />)
  const drafts = (): readonly PolicySection[] =>
    sections.all().map((section) => {
      const [id = "", title = "", body = ""] = [...section.querySelectorAll("input, textarea")].map(
        (field) => (field as HTMLInputElement | HTMLTextAreaElement).value, // as selected
      )
      return { id, title, body }
    })
  const showDifference = (): void =>
    redraw(difference, <Changes before={newest?.sections ?? []} after={drafts()} />)
  const sections = formRows<PolicySection>({
    name: "Section",
    className: "policy-sections",
    items: newest?.sections ?? [{ id: "", title: "", body: "" }],
    draw: sectionFields,
    beside: <Button onClick={showDifference}>What changes</Button>,
  })
  const close = (): void => redraw(place)
  const version = (newest?.version ?? 0) + 1
  const submit = () => {
    const body: NewPolicy = { projectId: of.project, version, sections: drafts() }
    return of.desk.send("POST", ["published-policy"], body)
  }
  const published = (): void => {
    close()
    list.reload()
    announce(`Version ${version} is published`)
  }
  redraw(
    place,
    <section class="editor" aria-label="New version">
      <h2>Version {version}</h2>
      <Form
        action={`Publish version ${version}`}
        submit={submit}
        done={published}
        cancel={() => asksBefore(close) || close()}
        isWork
      >
        {sections.node}
        {difference}
        <p class="small soft">A published version cannot be changed or taken back.</p>
      </Form>
    </section>,
  )
  place.querySelector("input")?.focus()
}

function sectionFields(section: PolicySection | undefined) {
  const { id = "", title = "", body = "" } = section ?? {}
  return (
    <>
      <div class="form-pair">
        <Field name="id" label="Id" isMono value={id} placeholder="scope" />
        <Field name="title" label="Title" value={title} />
      </div>
      <Field name="body" label="Text" type="textarea" value={body} />
    </>
  )
}

interface ChangesProps {
  readonly before: readonly PolicySection[]
  readonly after: readonly PolicySection[]
}

function Changes({ before, after }: ChangesProps) {
  const ids = [...new Set([...before, ...after].map(({ id }) => id))]
  const textOf = (sections: readonly PolicySection[], id: string): string => {
    const section = sections.find((each) => each.id === id)
    return section === undefined ? "" : `${section.title}\n${section.body}`
  }
  const changed = ids.filter((id) => textOf(before, id) !== textOf(after, id))
  if (changed.length === 0) return <p class="soft">Nothing changes.</p>
  return (
    <>
      {changed.map((id) => (
        <div class="panel">
          <Text of={id} in="b" />
          <p class="difference-text">
            <Differences before={textOf(before, id)} after={textOf(after, id)} />
          </p>
        </div>
      ))}
    </>
  )
}
