// Links that open one thing for somebody, for a limited time.

import type { Token, TokenList } from "@tallystick/client/wire"
import { Button } from "../../parts/button.tsx"
import { confirm } from "../../parts/dialog.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text, Unseen } from "../../parts/text.tsx"
import { Time, Ago } from "../../parts/time.tsx"
import { openActivityLink } from "../activity-link.tsx"
import type { Desk } from "../desk.ts"
import { listedTable } from "../listed-table.tsx"
import { Made } from "./made.tsx"

export function tokensPart(desk: Desk): Node {
  const list = listedTable(desk, {
    path: ["tokens"],
    itemsOf: ({ tokens }: TokenList) => tokens,
    columns: (reload) => tokenColumns(desk, reload),
    isOver: ({ state }) => state !== "live",
    textOf: ({ type, note, receipt, packId, projectId, subject }) =>
      [type, note, receipt, packId, projectId, subject?.id].join(" "),
    empty:
      "There is none yet. A link to a receipt, a policy or a pack is made where that is " +
      "shown; one to a person's activity is made here, or by your program.",
    add: {
      name: "Link to a person's activity",
      open: (reload) => openActivityLink(desk, { made: reload }),
    },
  })
  return <section class="top">{list.node}</section>
}

export function tokenColumns(desk: Desk, changed: () => void): readonly Column<Token>[] {
  return [
    {
      name: "Opens",
      isPlain: true,
      draw: (token) => (
        <>
          <Opens desk={desk} token={token} />
          {token.note !== undefined && <Below of={token.note} />}
        </>
      ),
    },
    { name: "Made", draw: ({ createdAt, mintedBy }) => <Made at={createdAt} by={mintedBy} /> },
    { name: "Ends", draw: ({ expiresAt }) => <Time at={expiresAt} form="date" /> },
    {
      name: "Last use",
      draw: ({ lastUsedAt }) => (lastUsedAt === undefined ? "never" : <Ago at={lastUsedAt} />),
    },
    {
      name: "Revoke",
      isEnd: true,
      draw: (token) =>
        token.state === "live" ? (
          <Button kind="plain" onClick={() => revoke(desk, token, changed)}>
            Revoke
            <Unseen of={token.tokenId} />
          </Button>
        ) : (
          token.state
        ),
    },
  ]
}

function Opens({ desk, token }: { readonly desk: Desk; readonly token: Token }) {
  const { type, receipt, packId, projectId, version, subject } = token
  if (type === "receipt")
    return (
      <>
        receipt <Text of={receipt ?? ""} in="code" />
      </>
    )
  if (type === "evidence")
    return (
      <>
        pack{" "}
        <a href={desk.link(["packs", packId ?? ""])}>
          <Text of={packId ?? ""} in="code" />
        </a>
      </>
    )
  if (type === "policy")
    return (
      <>
        policy of <Text of={projectId ?? ""} />,{" "}
        {version === undefined ? "all versions" : `version ${version}`}
      </>
    )
  return (
    <>
      activity of{" "}
      <Text of={subject?.id ?? ""} in="a" href={desk.link(["people", subject?.id ?? ""])} /> in{" "}
      <Text of={projectId ?? ""} />
    </>
  )
}

function revoke(desk: Desk, { tokenId }: Token, changed: () => void): void {
  confirm({
    title: "Revoke this link?",
    says: "Whoever has it sees nothing more from now on. This cannot be undone.",
    action: "Revoke it",
    act: () => desk.send("DELETE", ["tokens", tokenId]),
    done: changed,
  })
}
