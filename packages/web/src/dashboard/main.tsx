// Imported first, so that the styles of a page come after those that all pages share.
import "../style/tokens.css"
import "../style/base.css"
import "../style/chain.css"
import "../style/stick.css"
import "./dashboard.css"
import type { Session, WorkspaceList } from "@tallystick/client/wire"
import { askJson, type Told } from "../ask.ts"
import { keepText } from "../kept.ts"
import { openPage, type Page } from "../parts/page.tsx"
import { Refused, Skeleton } from "../parts/refused.tsx"
import { root } from "../place.ts"
import { showDashboard } from "./dashboard.tsx"
import { isSignedOut } from "./desk.ts"
import { showSetUp, showSignIn } from "./entrance.tsx"
import { forgetRecent } from "./events/kept-searches.ts"
import { forgetMarks } from "./marked.ts"
import type { KnownWorkspaces } from "./shell.tsx"
import { currentPlace } from "./place.ts"

/** Who is signed in, for the other tabs, because they share the cookie. Empty after a sign-out. */
const signedIn = keepText("signed in")
/** Nobody, but the same person may go on. */
const ended = "ended"
let shown = signedIn.get()
/** What goes on when the same person signs in again. Nobody else sees it. */
let paused: { readonly id: string; readonly goOn: () => void } | undefined
signedIn.watch(() => {
  const now = signedIn.get()
  // That the session has ended, this tab learns from its next request, and keeps what was typed.
  if (now === shown || now === ended) return
  if (now === paused?.id) return goOn()
  if (now === "") forgetMarks()
  // What is still open there is not for who comes now.
  document.body.replaceChildren()
  location.reload()
})

if (currentPlace().page === "setup") showSetUp(openPage(), enter)
else await begin()

async function begin(): Promise<void> {
  const page = openPage()
  page.show(<Skeleton />)
  const told = await askJson<Session>(new URL("v1/session", root))
  if (told.ok) return open(told.value)
  if (isSignedOut(told.refusal)) return askWho(page)
  page.show(<Refused refusal={told.refusal} retry={() => void begin()} />)
}

function enter(session: Session): void {
  if (currentPlace().page === "setup") history.replaceState(null, "", new URL("ui", root))
  if (paused === undefined) return void open(session)
  if (paused.id === session.member.id) goOn()
  else location.reload()
}

function goOn(): void {
  if (paused === undefined) return
  const { id, goOn: resume } = paused
  paused = undefined
  show(id)
  resume()
}

async function open(session: Session): Promise<void> {
  const told = await workspacesOf(session)
  if (!told.ok)
    return openPage().show(<Refused refusal={told.refusal} retry={() => void open(session)} />)
  show(session.member.id)
  showDashboard({
    session,
    ...told.value,
    signedOut() {
      forgetMarks()
      show("")
      askWho(openPage())
    },
    sessionEnded(resume) {
      paused = { id: session.member.id, goOn: resume }
      show(ended)
      askWho(openPage(), true)
    },
  })
}

/** Whoever signs in may be another person. */
function askWho(page: Page, isEnded = false): void {
  forgetRecent()
  showSignIn(page, enter, isEnded)
}

/** An admin of the instance also sees workspaces without being a member. */
async function workspacesOf(session: Session): Promise<Told<KnownWorkspaces>> {
  const own = session.workspaces.map(({ id }) => id)
  if (!session.member.instanceAdmin) return { ok: true, value: { workspaces: own, isAll: true } }
  const told = await askJson<WorkspaceList>(new URL("v1/workspaces?limit=100", root))
  if (!told.ok) return told
  const workspaces = [...new Set([...told.value.workspaces.map(({ id }) => id), ...own])]
  return { ok: true, value: { workspaces, isAll: told.value.nextCursor === null } }
}

function show(id: string): void {
  shown = id
  signedIn.set(id)
}
