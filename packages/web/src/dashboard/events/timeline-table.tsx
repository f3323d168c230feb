import type { Timeline } from "@tallystick/client/wire"
import { number } from "../../parts/counted.ts"
import { openDialog } from "../../parts/dialog.tsx"
import { Table } from "../../parts/table.tsx"
import { lanes } from "./asked.ts"
import { spanOf } from "./timeline-spans.ts"

export function openTimelineTable(timeline: Timeline): void {
  const some = timeline.buckets
    .map(({ total, counts }, place) => ({ total, counts, place }))
    .filter(({ total }) => total > 0)
  openDialog("Entries over time", () => (
    <div class="numbers" tabIndex={0} role="region" aria-label="Numbers">
      <Table<(typeof some)[number]>
        columns={[
          { name: "From – until", isPlain: true, draw: ({ place }) => spanOf(timeline, place) },
          ...lanes.map((lane) => ({
            name: lane,
            isNumber: true,
            draw: ({ counts }: (typeof some)[number]) => number(counts[lane] ?? 0),
          })),
          { name: "all", isNumber: true, draw: ({ total }) => number(total) },
        ]}
        items={some}
      />
    </div>
  ))
}
