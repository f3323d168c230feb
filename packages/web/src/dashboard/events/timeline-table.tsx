import type { Timeline } from "@tallystick/client/wire"
import { number } from "../../parts/counted.ts"
import { openDialog } from "../../parts/dialog.tsx"
import { spanOf, timelineLanes } from "./timeline-spans.ts"

export function openTimelineTable(timeline: Timeline): void {
  const some = timeline.buckets
    .map((bucket, place) => ({ bucket, place }))
    .filter(({ bucket }) => bucket.total > 0)
  openDialog("Entries over time", () => (
    <div class="numbers" tabIndex={0} role="region" aria-label="Numbers">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">From – until</th>
            {timelineLanes.map((lane) => (
              <th scope="col" class="end">
                {lane}
              </th>
            ))}
            <th scope="col" class="end">
              all
            </th>
          </tr>
        </thead>
        <tbody>
          {some.map(({ bucket: { total, counts }, place }) => (
            <tr>
              <td>{spanOf(timeline, place)}</td>
              {timelineLanes.map((lane) => (
                <td class="end">{number(counts[lane] ?? 0)}</td>
              ))}
              <td class="end">{number(total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  ))
}
