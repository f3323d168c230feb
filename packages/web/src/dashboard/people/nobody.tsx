// Shown if no entry has the typed id. It may be a name or an e-mail address, which finds the id.

import { parseQuery } from "@tallystick/client/grammar"
import type { EventsPage, Party } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { elementOf } from "../../elements/elements.ts"
import { showTold } from "../../parts/show-told.tsx"
import { Text } from "../../parts/text.tsx"
import { wholeChain, type Desk } from "../desk.ts"
import { Name } from "../events/entry-line.tsx"
import { quoted } from "../things/both-sides.ts"

interface NobodyProps {
  readonly desk: Desk
  readonly text: string
  /** There are older entries that name it. */
  readonly hasMore: boolean
}

export function Nobody({ desk, text, hasMore }: NobodyProps) {
  const called = elementOf(<div aria-live="polite" />)
  void showTold(
    called,
    () => calledSo(desk, text),
    (found) => <Found desk={desk} {...found} />,
  )
  return (
    <div class="nothing-found">
      <h2>
        {hasMore
          ? "None of the newest entries with this text has it as an id"
          : "No entry that you may see has this id"}
      </h2>
      {called}
    </div>
  )
}

interface Called {
  readonly parties: readonly Party[]
  /** Nobody else is called so. */
  readonly isAll: boolean
}

/** Whom entries call so. Those who were found are left out of the next search. */
async function calledSo(desk: Desk, text: string): Promise<Told<Called>> {
  const parties = new Map<string, Party>()
  let isAll = true
  for (const field of ["name", "email"])
    for (let query = `${field}:${quoted(text)}`; ;) {
      const told = await desk.get<EventsPage>(["events"], { ...wholeChain, query, limit: 100 })
      if (!told.ok) return told
      const found = told.value.events
        .flatMap(({ actor, target }) => [actor, target])
        .filter((party) => isCalled(party, text) && !parties.has(party.id))
      for (const party of found) parties.set(party.id, party)
      if (!told.value.hasMore) break
      for (const id of new Set(found.map((party) => party.id)))
        query += ` -actor:${quoted(id)} -target:${quoted(id)}`
      isAll = found.length > 0 && !("problem" in parseQuery(query))
      if (!isAll) break
    }
  return { ok: true, value: { parties: [...parties.values()], isAll } }
}

function isCalled({ name, email }: Party, text: string): boolean {
  return [name, email].some((each) => each?.toLowerCase() === text.toLowerCase())
}

function Found({ desk, parties, isAll }: { readonly desk: Desk } & Called) {
  if (parties.length === 0)
    return (
      <p class="soft">
        {isAll ? "Nor is anybody called so." : "Nor does one of the newest call anybody so."}{" "}
        <a href={desk.link(["people"])}>Try another</a>
      </p>
    )
  return (
    <>
      <p>
        {parties.length === 1
          ? "This one has that name or address:"
          : "These have that name or address:"}
      </p>
      <ul class="called">
        {parties.map((party) => (
          <li>
            <a href={desk.link(["people", party.id])}>
              <Name of={party} />
            </a>{" "}
            <Text of={party.id} in="code" class="quiet" />
          </li>
        ))}
      </ul>
      {!isAll && <p class="soft">There may be others.</p>}
    </>
  )
}
