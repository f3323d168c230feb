// The archive: the files with the contents of older entries.

import type {
  ArchiveSegment,
  ArchiveSegmentList,
  ChainState,
  Workspace,
} from "@tallystick/client/wire"
import { askedTogether } from "../../ask.ts"
import { elementOf } from "../../elements/elements.ts"
import { counted, number, sizeText } from "../../parts/counted.ts"
import { Facts } from "../../parts/facts.tsx"
import { Hash } from "../../parts/hash.tsx"
import { showTold } from "../../parts/show-told.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Text } from "../../parts/text.tsx"
import type { Desk, Part } from "../desk.ts"
import { listedTable } from "../listed-table.tsx"

export function archivePart(desk: Desk): Part {
  const state = elementOf(<div aria-busy="true" />)
  let newest: ArchiveSegment | undefined
  const list = listedTable(desk, {
    path: ["segments"],
    itemsOf: ({ segments }: ArchiveSegmentList) => segments,
    columns: () => columns(desk),
    empty: "Nothing lies in the archive yet. Contents move there by themselves, many in one file.",
    shown: (segments) => {
      const isFirst = newest === undefined
      newest = segments[0]
      if (isFirst) drawState(desk, newest, state)
    },
  })
  drawState(desk, undefined, state)
  return {
    node: (
      <>
        <p class="soft">
          Older contents lie in files beside the database, as compressed lines that any program
          reads. They are found, shown and proven like all others.
        </p>
        {state}
        {list.node}
      </>
    ),
  }
}

function drawState(desk: Desk, newest: ArchiveSegment | undefined, place: Element): void {
  const moved = newest?.lastSequence ?? 0
  void showTold(
    place,
    () => askedTogether([desk.get<ChainState>(["integrity"]), desk.get<Workspace>([])]),
    ([{ size, archived }, { hotDays }]) => (
      <Facts
        rows={[
          [
            "Old enough",
            `${number(archived)} of ${counted(size, "entry", "entries")}: recorded more than ${hotDays} days ago`,
          ],
          ["Moved", moved === 0 ? "none yet" : `up to #${number(moved)}`],
          ["Waiting", counted(Math.max(0, archived - moved), "entry", "entries")],
        ]}
      />
    ),
  )
}

function columns(desk: Desk): readonly Column<ArchiveSegment>[] {
  return [
    {
      name: "Entries",
      isPlain: true,
      draw: ({ firstSequence, lastSequence }) => (
        <>
          <a href={desk.link(["events", String(firstSequence)])}>#{number(firstSequence)}</a> to{" "}
          <a href={desk.link(["events", String(lastSequence)])}>#{number(lastSequence)}</a>
        </>
      ),
    },
    {
      name: "Size",
      draw: ({ bytes, textBytes }) => (
        <>
          {sizeText(bytes)} <span class="quiet">of {sizeText(textBytes)} text</span>
        </>
      ),
    },
    {
      name: "File",
      draw: ({ file, sha256 }) => (
        <>
          <Text of={file} in="code" class="file-name" />
          <Below>
            SHA-256 <Hash of={sha256} short />
          </Below>
        </>
      ),
    },
  ]
}
