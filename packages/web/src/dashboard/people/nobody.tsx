// Shown if no entry has the typed id. It may be a name or an e-mail address, which finds the id.

import type { EventsPage, Party } from "@tallystick/client/wire"
import { redraw } from "../../elements/redraw.ts"
import { RefusedLine } from "../../parts/form.tsx"
import { elementOf } from "../../parts/page.tsx"
import { Text } from "../../parts/text.tsx"
import { wholeChain, type Desk } from "../desk.ts"
import { Name } from "../events/entry-line.tsx"
import { queryOf } from "../things/both-sides.ts"

export function Nobody({ desk, text }: { readonly desk: Desk; readonly text: string }) {
  const called = elementOf(<div aria-live="polite" />)
  const look = async (): Promise<void> => {
    const told = await Promise.all(
      (["did", "done"] as const).map((side) =>
        desk.get<EventsPage>(["events"], {
          ...wholeChain,
          query: queryOf({ id: text }, side),
          limit: 100,
        }),
      ),
    )
    const parties = new Map<string, Party>()
    for (const page of told) {
      if (!page.ok)
        return redraw(called, <RefusedLine refusal={page.refusal} retry={() => void look()} />)
      for (const { actor, target } of page.value.events)
        for (const party of [actor, target])
          if (isCalled(party, text)) parties.set(party.id, parties.get(party.id) ?? party)
    }
    redraw(called, <Found desk={desk} parties={[...parties.values()]} />)
  }
  void look()
  return (
    <div class="nothing-found">
      <h2>No entry that you may see has this id</h2>
      {called}
    </div>
  )
}

function isCalled({ name, email }: Party, text: string): boolean {
  return [name, email].some((each) => each?.toLowerCase() === text.toLowerCase())
}

function Found({ desk, parties }: { readonly desk: Desk; readonly parties: readonly Party[] }) {
  if (parties.length === 0)
    return (
      <p class="soft">
        Nor is anybody called so. <a href={desk.link(["people"])}>Try another</a>
      </p>
    )
  return (
    <>
      <p>{parties.length === 1 ? "This one has that name:" : "These have that name:"}</p>
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
    </>
  )
}
