// A single-page application. The address says what is shown.

import type { Session } from "@tallystick/client/wire"
import { printable } from "@tallystick/proof"
import { ask } from "../ask.ts"
import { keepText } from "../kept.ts"
import { showCutText } from "../parts/cut-text.ts"
import { closeDialogs, isHeld, leaveDialogs, openDialog, asksBefore } from "../parts/dialog.tsx"
import { RefusedLine, unsaved } from "../parts/form.tsx"
import { announce } from "../parts/page.tsx"
import { holdSecret } from "../parts/secret.tsx"
import { root } from "../place.ts"
import { openChain } from "./chain/chain.tsx"
import { drawChainStatus } from "./chain/chain-status.tsx"
import { createDesk, isSignedOut, type Desk, type OpenView, type View } from "./desk.ts"
import { openEvents } from "./events/events.tsx"
import { keepFocus } from "./keep-focus.ts"
import { later } from "./later.tsx"
import { openForbidden, openNotFound } from "./not-found.tsx"
import { openOverview } from "./overview/overview.tsx"
import { openPacks } from "./packs/packs.tsx"
import { openPasswordChange } from "./password-change.tsx"
import { currentPlace, isWithin, linkTo, type Place } from "./place.ts"
import { openShell, type KnownWorkspaces, type PageLink } from "./shell.tsx"
import { listenToKeys } from "./shortcuts.tsx"
import { openThing } from "./things/thing.tsx"

/** The pages in the bar, with the key that opens each after `g`. */
const pages: readonly (PageLink & { readonly key?: string; readonly open: OpenView })[] = [
  { page: "overview", name: "Overview", key: "o", open: openOverview },
  { page: "events", name: "Events", key: "e", open: openEvents },
  { page: "chain", name: "Chain", key: "c", open: openChain },
  { page: "packs", name: "Packs", key: "p", open: openPacks },
  { page: "policies", name: "Policies", key: "l", open: later("Policies", "openPolicies") },
  { page: "consents", name: "Consents", key: "n", open: later("Consents", "openConsents") },
  { page: "people", name: "People", key: "u", open: later("People", "openPeople") },
  { page: "lifetime", name: "Lifetime", key: "i", open: later("Lifetime", "openLifetime") },
  { page: "access", name: "Access", key: "k", open: later("Access", "openAccess") },
  { page: "settings", name: "Settings", key: "s", open: later("Settings", "openSettings") },
]

/** Pages that only other pages link to. */
const further: Readonly<Record<string, OpenView>> = {
  things: openThing,
  system: later("System", "openSystem"),
  workspaces: later("Workspaces", "openWorkspaces"),
}

/** The last workspace that was shown, for an address without one. */
const lastWorkspace = keepText("workspace")

interface DashboardParts extends KnownWorkspaces {
  readonly session: Session
  readonly signedOut: () => void
  /** `goOn`: the same person has signed in again. */
  readonly sessionEnded: (goOn: () => void) => void
}

export function showDashboard(parts: DashboardParts): void {
  const { session, workspaces, isAll, signedOut } = parts
  const over = new AbortController()
  const reach = reachOf(session, workspaces)
  let view: View | undefined
  let desk: Desk | undefined
  let shown: { readonly page: string; readonly workspace: string } | undefined
  const keys = listenToKeys({
    jumps: pages.flatMap(({ key, name, page }) =>
      key === undefined
        ? []
        : [{ key, name, go: () => go(linkTo(reach.namedIn(currentPlace()), [page])) }],
    ),
    signal: over.signal,
  })
  const shell = openShell({
    session,
    workspaces,
    isAll,
    pages,
    showKeys: keys.showList,
    changePassword: () => desk && openPasswordChange(desk),
    signOut: () => void signOut(leave, shell.working),
  })
  function leave(): void {
    over.abort()
    closeDialogs()
    view?.close?.()
    desk?.chain.close()
    signedOut()
  }
  const answered = tryingAgain(shell.main, over)
  const signedInAgain = pausing(parts, over.signal)
  const { go, show } = navigation(draw, over)
  function deskOf(workspace: string): Desk {
    if (desk?.workspace === workspace) return desk
    desk?.chain.close()
    const { working } = shell
    const opened = createDesk({ session, workspace, go, working, signedInAgain })
    drawChainStatus(shell.status, opened)
    if (!reach.has(workspace)) return opened
    opened.chain.watch(() => {
      // Only one that exists is opened again.
      if (opened.chain.state() !== undefined) lastWorkspace.set(workspace)
      drawChainStatus(shell.status, opened)
      answered(opened.chain.refusal() === undefined)
    })
    void opened.chain.look()
    return opened
  }
  function draw(isBack: boolean): void {
    const place = { ...currentPlace(), isBack }
    const workspace = reach.namedIn(place)
    nameWorkspace(place, workspace)
    const isSame = place.page === shown?.page && workspace === shown.workspace
    if (isSame && view?.moved !== undefined) {
      document.title = titleOf(view, place, workspace)
      return view.moved(place)
    }
    view?.close?.()
    const isLeft = shown !== undefined && shown.page !== place.page
    shown = { page: place.page, workspace }
    desk = deskOf(workspace)
    const open = reach.has(workspace) || place.page === "workspaces" ? viewOf(place) : openForbidden
    view = open(desk, place)
    document.title = titleOf(view, place, workspace)
    shell.mark(workspace, place.page, view.isWide ?? false)
    keys.use(view.shortcuts ?? [])
    shell.main.replaceChildren(view.node)
    announce(view.title)
    if (isLeft) beginAt(shell.main, isBack)
  }
  keepFocus(over.signal)
  document.addEventListener("click", (event) => follow(event, go), over)
  document.addEventListener("pointerover", showCutText, over)
  show()
}

/** Tabs and the list of visited pages tell two entries or two people apart. */
function titleOf({ title }: View, { rest }: Place, workspace: string): string {
  const part = printable(rest.at(-1) ?? "")
  return [title, ...(title.endsWith(part) ? [] : [part]), workspace, "Tallystick"].join(" · ")
}

/**
 * Takes whether the service has answered the bar. Once it does again, also after the network was
 * away, everything that could not be loaded is asked for again.
 */
function tryingAgain(main: Element, over: AbortController): (isAnswered: boolean) => void {
  const again = "[part=refusal] [part=button], .refused-line .plain"
  let wasLost = false
  // The bar asks then, too.
  addEventListener("online", () => (wasLost = true), over)
  return (isAnswered) => {
    if (wasLost && isAnswered)
      for (const button of main.querySelectorAll<HTMLElement>(again)) button.click()
    wasLost = !isAnswered
  }
}

/** Another page begins at its top, under no menu; Tab goes on there. */
function beginAt(main: HTMLElement, isBack: boolean): void {
  document.querySelector<HTMLElement>(":popover-open")?.hidePopover()
  if (!isBack) scrollTo(0, 0)
  main.focus({ preventScroll: true })
}

/**
 * Going to an address, also by Back and Forward. A secret that is not stored yet keeps the page, and
 * unsaved work asks.
 */
function navigation(draw: (isBack: boolean) => void, over: AbortController) {
  let address = ""
  const show = (isBack = false): void => {
    draw(isBack)
    address = location.href
  }
  const moved = (): void => {
    // To another part of this page.
    if (withoutHash(address) === withoutHash(location.href)) return
    if (leaveDialogs() && !asksBefore(() => history.back())) show(true)
    else history.pushState(null, "", address)
  }
  const hold = (event: Event): void => {
    if (isHeld() || unsaved() !== null) event.preventDefault()
  }
  addEventListener("popstate", moved, over)
  addEventListener("beforeunload", hold, over)
  /** Returns whether it went there. */
  const go = (href: string, how?: "replace"): boolean => {
    if (holdSecret() || asksBefore(() => go(href, how))) return false
    closeDialogs()
    if (how === "replace") history.replaceState(null, "", href)
    else history.pushState(null, "", href)
    show()
    return true
  }
  return { show, go }
}

function withoutHash(href: string): string {
  return href.replace(/#.*/, "")
}

/** Of several requests under way, each is refused, and waits for the same person. */
function pausing({ sessionEnded }: Pick<DashboardParts, "sessionEnded">, over: AbortSignal) {
  let back: Promise<void> | undefined
  return (): Promise<void> => {
    if (over.aborted) return new Promise(() => {})
    back ??= new Promise((resolve) => {
      const putBack = putAside()
      sessionEnded(() => {
        back = undefined
        putBack()
        resolve()
      })
    })
    return back
  }
}

/** Takes what is shown out of the document, until the returned function is called. */
function putAside(): () => void {
  const { title, activeElement: focused } = document
  const top = scrollY
  const page = document.getElementById("page")
  const content = [...(page?.childNodes ?? [])]
  const dialogs = [...document.querySelectorAll<HTMLDialogElement>("dialog[open]")]
  for (const dialog of dialogs) dialog.remove()
  return () => {
    document.title = title
    page?.replaceChildren(...content)
    for (const dialog of dialogs) {
      dialog.removeAttribute("open")
      document.body.append(dialog)
      dialog.showModal()
    }
    if (focused instanceof HTMLElement) focused.focus()
    scrollTo(0, top)
  }
}

function reachOf({ member }: Session, workspaces: readonly string[]) {
  const has = (id: string): boolean =>
    id !== "" && (workspaces.includes(id) || member.instanceAdmin)
  return {
    has,
    /** A workspace that the address names is never replaced by another one. */
    namedIn({ query }: Place): string {
      // The workspace of the instance itself is the last choice.
      const [usual = "instance"] = workspaces.filter((id) => id !== "instance")
      const last = lastWorkspace.get()
      return query.get("workspace") || (has(last) ? last : usual)
    },
  }
}

async function signOut(leave: () => void, working: Desk["working"]): Promise<void> {
  if (asksBefore(() => void signOut(leave, working))) return
  working(true)
  const answer = await ask(new URL("v1/session", root), { method: "DELETE" })
  working(false)
  if (!answer.ok && !isSignedOut(answer.refusal)) {
    const { refusal } = answer
    return openDialog("You are still signed in", () => <RefusedLine refusal={refusal} />)
  }
  history.replaceState(null, "", new URL("ui", root))
  leave()
}

function viewOf({ page }: Place): OpenView {
  return pages.find((each) => each.page === page)?.open ?? further[page] ?? openNotFound
}

/** So that the address opens the same page for others. */
function nameWorkspace({ query }: Place, workspace: string): void {
  if (query.get("workspace") === workspace) return
  query.set("workspace", workspace)
  history.replaceState(null, "", `?${query}`)
}

/**
 * Follows links within the dashboard without loading a document. The browser follows all others,
 * and links in another tab.
 */
function follow(event: MouseEvent, go: (href: string) => boolean): void {
  const link = event.target instanceof Element ? event.target.closest("a") : null
  if (link === null || link.target !== "" || link.hasAttribute("download")) return
  const { button, ctrlKey, metaKey, shiftKey, altKey } = event
  if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return
  const url = new URL(link.href)
  if (!isWithin(url) || (url.hash !== "" && url.pathname === location.pathname)) return
  event.preventDefault()
  if (go(url.href)) scrollTo(0, 0)
}
