// The frame of the dashboard: bar, pages, workspaces, and who is signed in.

import type { Session } from "@tallystick/client/wire"
import { elementOf, redraw } from "../elements/elements.ts"
import { Mark } from "../parts/icon.tsx"
import { Menu } from "../parts/menu.tsx"
import { fillPage, ThemeToggle } from "../parts/page.tsx"
import { Text } from "../parts/text.tsx"
import { ZoneToggle } from "../parts/time.tsx"
import { root } from "../place.ts"
import { linkTo } from "./place.ts"

export interface PageLink {
  readonly page: string
  readonly name: string
}

export interface KnownWorkspaces {
  readonly workspaces: readonly string[]
  /** An admin of the instance sees older ones, too, if these are not all. */
  readonly isAll: boolean
}

interface ShellParts extends KnownWorkspaces {
  readonly session: Session
  readonly pages: readonly PageLink[]
  readonly signOut: () => void
  readonly showKeys: () => void
  readonly changePassword: () => void
}

export function openShell(parts: ShellParts) {
  const main = elementOf(<main id="main" tabIndex={-1} />)
  const status = elementOf(<span class="chain-status" />)
  const menu = elementOf(<span />)
  const nav = elementOf(<nav aria-label="Main" />)
  const bar = elementOf(
    <header class="bar desk-bar">
      <a class="brand" href={new URL("ui", root).href} aria-label="tallystick">
        <Mark /> <span class="wide-only">tallystick</span>
      </a>
      {menu}
      {nav}
      <div class="end">
        {status}
        <span class="wide-only">
          <ZoneToggle />
        </span>
        <ThemeToggle />
        <AccountMenu {...parts} />
      </div>
    </header>,
  )
  fillPage(bar, main)
  return {
    main,
    status,
    mark(workspace: string, page: string, isWide: boolean): void {
      main.classList.toggle("wide", isWide)
      redraw(menu, <WorkspaceMenu {...parts} workspace={workspace} page={page} />)
      redraw(
        nav,
        ...parts.pages.map(({ page: each, name }) => (
          <a href={linkTo(workspace, [each])} aria-current={each === page ? "page" : undefined}>
            {name}
          </a>
        )),
      )
      // Scrolled into view, it would be where Tab begins.
      const current = nav.querySelector<HTMLElement>("[aria-current]")
      if (current) nav.scrollLeft = current.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2
    },
    working: (isWorking: boolean): void => {
      bar.classList.toggle("working", isWorking)
      main.setAttribute("aria-busy", String(isWorking))
    },
  }
}

interface WorkspaceMenuProps extends KnownWorkspaces {
  readonly workspace: string
  readonly page: string
}

function WorkspaceMenu({ workspace, workspaces, isAll, page }: WorkspaceMenuProps) {
  return (
    <Menu id="workspaces" label={<Text of={workspace} />} kind="Workspace">
      {workspaces.map((each) => (
        <a href={linkTo(each, [page])} aria-current={each === workspace ? "true" : undefined}>
          <Text of={each} />
        </a>
      ))}
      {!isAll && <p class="small quiet apart">These are the newest 100.</p>}
      <a href={linkTo(workspace, ["workspaces"])} class={isAll ? "apart" : ""}>
        All workspaces
      </a>
    </Menu>
  )
}

function AccountMenu({ session: { member }, signOut, showKeys, changePassword }: ShellParts) {
  const [before = ""] = member.email.split("@")
  const { name = before } = member
  return (
    <Menu
      id="account"
      label={
        <>
          <Text of={name} in="span" class="wide-only" />
          <span class="slim-only">{name.slice(0, 1).toUpperCase()}</span>
        </>
      }
      kind="Account"
    >
      <Text of={member.email} in="p" class="small quiet" />
      <p class="slim-only">
        <ZoneToggle />
      </p>
      <button type="button" onClick={changePassword}>
        Change password
      </button>
      <button type="button" class="wide-only" onClick={showKeys}>
        Keyboard shortcuts
      </button>
      {member.instanceAdmin && <a href={linkTo("instance", ["system"])}>System</a>}
      <a href={new URL("docs", root).href}>API reference</a>
      <a href={new URL("verify", root).href}>Verify a file</a>
      <button type="button" class="apart" onClick={signOut}>
        Sign out
      </button>
    </Menu>
  )
}
