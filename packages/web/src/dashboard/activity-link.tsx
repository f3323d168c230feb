// A link with which a person sees their own activity, and which fields it shows in clear.

import type { CreatedActivityToken, Workspace } from "@tallystick/client/wire"
import { askedTogether } from "../ask.ts"
import { Button } from "../parts/button.tsx"
import { openDialog } from "../parts/dialog.tsx"
import { Field, RefusedLine, textIn } from "../parts/form.tsx"
import { Text } from "../parts/text.tsx"
import type { Desk } from "./desk.ts"
import { everyProject } from "./every-item.ts"
import { openLinkDialog } from "./link-dialog.tsx"

const title = "Link to a person's activity"

interface ActivityLink {
  readonly subject?: string
  /** The types of the person in entries; by default the usual ones. */
  readonly types?: readonly string[]
  readonly note?: string
  readonly made?: () => void
}

export async function openActivityLink(desk: Desk, link: ActivityLink): Promise<void> {
  const { subject, types, note, made } = link
  const at = location.href
  const told = await askedTogether([desk.get<Workspace>([]), everyProject(desk)])
  // The reader has gone on.
  if (location.href !== at) return
  if (!told.ok) return openDialog(title, () => <RefusedLine refusal={told.refusal} />)
  const [{ personalKeys }, projects] = told.value
  const open = projects.filter(({ activityLinks }) => activityLinks)
  if (open.length === 0)
    return openDialog(title, (close) => <NoneAllows desk={desk} close={close} />)
  openLinkDialog<CreatedActivityToken>(desk, {
    title,
    path: ["activity", "token"],
    bodyOf: (values) => ({
      projectId: textIn(values, "project"),
      subject: types === undefined ? textIn(values, "subject") : { id: subject, types },
    }),
    daysUsual: 1,
    daysMax: 30,
    note,
    address: ({ activityUrl }) => activityUrl,
    opens: "Give it to this person alone: whoever opens it reads what was said before.",
    made,
    children: (
      <>
        {subject === undefined && (
          <Field name="subject" label="Person" isMono hint="Their id, as your events name it." />
        )}
        <Field
          name="project"
          label="Project"
          isMono
          value={open[0]?.id ?? ""}
          hint={
            <>
              These allow links: <Text of={open.map(({ id }) => id).join(", ")} />.
            </>
          }
        />
        <InClear personalKeys={personalKeys} />
      </>
    ),
  })
}

function NoneAllows({ desk, close }: { readonly desk: Desk; readonly close: () => void }) {
  return (
    <>
      <p>
        No project allows links to activity.{" "}
        {desk.isAdmin ? (
          <>
            Allow it under <a href={desk.link(["settings"])}>Settings</a>, where it is a check of
            the project.
          </>
        ) : (
          "An admin of this workspace allows it under Settings."
        )}
      </p>
      <p class="actions">
        <Button onClick={close}>Close</Button>
      </p>
    </>
  )
}

/** Withholds fields as the service does: a sealed field belongs to the actor or to the target. */
function InClear({ personalKeys }: Pick<Workspace, "personalKeys">) {
  const isAll = personalKeys.includes("*")
  return (
    <div class="in-clear small">
      <p>
        Whoever has the link reads, of entries of this project that concern the person and are meant
        for them (<code>userVisible</code>):
      </p>
      <ul>
        <li>the action, the times, and the ids of everybody in it;</li>
        <li>
          every text in its metadata
          {personalKeys.length > 0 && (
            <>
              ; of {isAll ? "all of it" : <code>{<Text of={personalKeys.join(", ")} />}</code>} only
              what is older than the setting that seals it
            </>
          )}
          ;
        </li>
        <li>the person's own name, e-mail and other details;</li>
        <li>
          of what they did themselves, the session and request it came from
          {personalKeys.length > 0 && ", and all of its metadata"}.
        </li>
      </ul>
      <p>
        Names of others are withheld, and of their e-mails all but the first letter and the domain.
      </p>
    </div>
  )
}
