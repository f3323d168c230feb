// One evidence pack: its contents, its links, and how to check it.

import type { EventsPage, Pack, TokenList } from "@tallystick/client/wire"
import { elementOf, redraw } from "../../elements/elements.ts"
import { Copy } from "../../parts/copy.tsx"
import { counted, number } from "../../parts/counted.ts"
import { Facts } from "../../parts/facts.tsx"
import { Fold } from "../../parts/fold.tsx"
import { Hash } from "../../parts/hash.tsx"
import { waitingIcon } from "../../parts/icon.tsx"
import { isHidden, Notice, Refused, Skeleton } from "../../parts/refused.tsx"
import { Text } from "../../parts/text.tsx"
import { Time } from "../../parts/time.tsx"
import { State } from "../../parts/verdict.tsx"
import { root } from "../../place.ts"
import { tokenColumns } from "../access/tokens.tsx"
import type { Desk, View } from "../desk.ts"
import { createEntryList, type EntryList } from "../entry-list.tsx"
import { listedTable } from "../listed-table.tsx"
import type { Place } from "../place.ts"
import { HandOut } from "./hand-out.tsx"

export function openPack(desk: Desk, packId: string, { isBack }: Place): View {
  const content = elementOf(<div class="about" />)
  let list: EntryList | undefined
  let isOver = false
  const load = async (): Promise<void> => {
    const told = await desk.get<Pack>(["evidence-packs", packId])
    if (!told.ok && isHidden(told.refusal))
      return redraw(
        content,
        <Notice title="There is no such pack">
          <a href={desk.link(["packs"])}>All evidence packs</a>
        </Notice>,
      )
    if (!told.ok)
      return redraw(content, <Refused refusal={told.refusal} retry={() => void load()} />)
    if (isOver) return
    const links = elementOf(<section />)
    const drawLinks = (): void => redraw(links, <Links desk={desk} packId={packId} />)
    drawLinks()
    list = entriesOf(desk, packId, isBack)
    redraw(
      content,
      <Head desk={desk} pack={told.value} changed={drawLinks} />,
      links,
      <section>
        <h2>What it holds</h2>
        {list.node}
      </section>,
    )
  }
  content.append(<Skeleton />)
  void load()
  return {
    title: "Evidence pack",
    node: content,
    close() {
      isOver = true
      list?.close()
    },
  }
}

function entriesOf(desk: Desk, packId: string, isBack: Place["isBack"]): EntryList {
  return createEntryList({
    desk,
    isBack,
    load: (cursor, limit) =>
      desk.get<EventsPage>(["evidence-packs", packId, "entries"], {
        cursor,
        limit,
        include: "proof",
      }),
    nothing: () => <p class="soft">Nothing to show.</p>,
  })
}

interface HeadProps {
  readonly desk: Desk
  readonly pack: Pack
  readonly changed: () => void
}

function Head({ desk, pack, changed }: HeadProps) {
  const { packId, title, receiptCount, projectIds, packHash, sequence, createdAt } = pack
  return (
    <>
      <p class="small">
        <a href={desk.link(["packs"])}>Evidence packs</a>
      </p>
      <Text of={title} in="h1" />
      <p class="actions">
        <HandOut desk={desk} pack={pack} made={changed} />
      </p>
      <Facts
        rows={[
          [
            "State",
            sequence === undefined ? (
              <State tone="neutral" icon={waitingIcon} class="quiet">
                recorded; its first download seals it
              </State>
            ) : (
              <State tone="intact">sealed</State>
            ),
          ],
          [
            "Recorded as",
            sequence && (
              <a href={desk.link(["events", String(sequence)], { range: "all", system: 1 })}>
                #{number(sequence)}
              </a>
            ),
          ],
          [
            "Holds",
            <Text
              of={`${counted(receiptCount, "entry", "entries")} of ${projectIds.join(", ")}`}
            />,
          ],
          ["Made", <Time at={createdAt} />],
          [
            "Its hash",
            <>
              <Hash of={packHash} /> <Copy text={packHash} label="Copy hash" />
            </>,
          ],
          [
            "Id",
            <>
              <Text of={packId} in="code" /> <Copy text={packId} label="Copy id" />
            </>,
          ],
        ]}
      />
      <Fold title="How it is checked">
        <p class="soft">
          Whoever has the ZIP opens <code>verify.html</code>, which is in it, or drops it into{" "}
          <a href={new URL("verify", root).href}>the verifier</a>, or runs{" "}
          <code>tallystick verify {packId}.zip</code>. None of them asks this service. What it
          cannot know is whether the key is yours: give it another way (
          <a href={desk.link(["chain"])}>Chain</a> shows it).
        </p>
      </Fold>
    </>
  )
}

function Links({ desk, packId }: { readonly desk: Desk; readonly packId: string }) {
  if (!desk.isAdmin)
    return (
      <p class="soft small">An admin of this workspace sees who has a link to it, and ends it.</p>
    )
  const list = listedTable(desk, {
    path: ["tokens"],
    query: { packId },
    itemsOf: ({ tokens }: TokenList) => tokens,
    columns: (reload) => tokenColumns(desk, reload),
    isOver: ({ state }) => state !== "live",
    empty: "Nobody was given a link to it.",
  })
  return (
    <>
      <h2>Links to it</h2>
      {list.node}
    </>
  )
}
