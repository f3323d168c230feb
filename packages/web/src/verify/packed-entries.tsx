import { number } from "../parts/counted.ts"
import { LaneLetter } from "../parts/lane.tsx"
import { Party } from "../parts/recorded.tsx"
import { Text } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import type { Packed } from "./evidence.ts"

export function PackedEntries({ of: packed }: { readonly of: Packed | undefined }) {
  if (packed === undefined) return <></>
  const { entries, total } = packed
  return (
    <div class="packed">
      <h3>
        What it holds{" "}
        <span class="quiet">
          {total === entries.length
            ? `${number(total)} entries`
            : `the first ${entries.length} of ${number(total)} entries`}
        </span>
      </h3>
      <div class="table" tabIndex={0} role="region" aria-label="Entries of the pack">
        <table>
          <thead>
            <tr>
              <th>Entry</th>
              <th>Occurred</th>
              <th>Actor</th>
              <th>Action</th>
              <th>Target</th>
              <th>Lane</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(({ sequence, action, actor, target, lane, occurredAt }) => (
              <tr>
                <td>#{number(sequence)}</td>
                <td>
                  <Time at={occurredAt} />
                </td>
                <td>
                  <Party of={actor} />
                </td>
                <Text of={action} in="td" class="mono" />
                <td>
                  <Party of={target} />
                </td>
                <td>
                  <LaneLetter of={lane} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}
