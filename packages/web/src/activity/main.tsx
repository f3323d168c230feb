// The page on which a person sees what was recorded about them.

import type { ActivityPage } from "@tallystick/client/wire"
import { askJson, type Refusal } from "../ask.ts"
import { Mark } from "../parts/icon.tsx"
import { announce, openPage } from "../parts/page.tsx"
import { RefusalSection } from "../parts/refusal-section.tsx"
import { isHidden, isLinkOver, LinkOver, Notice, Skeleton } from "../parts/refused.tsx"
import { Text } from "../parts/text.tsx"
import { timeText } from "../parts/time.tsx"
import { apiUrl, pathParts, root, takeToken } from "../place.ts"
import { trustedVkeys } from "../trusted-keys.ts"
import { createActivityList } from "./activity-list.tsx"
import { english, englishActions, type Reader } from "./phrases.ts"
import { provePage } from "./prove-page.ts"
import "../style/tokens.css"
import "../style/base.css"
import "../style/stick.css"
import "./activity.css"

const [, workspace = ""] = pathParts()
const token = takeToken("a", workspace)
const page = openPage({ owner: workspace, zoneChanged: () => list.draw() })
const verifier = new URL("verify", root)
const list = createActivityList({
  reader: (actions): Reader => ({
    words: english,
    actions: { ...englishActions, ...actions },
    locale: "en-GB",
    time: timeText,
    verifier,
  }),
  ask(query) {
    const url = apiUrl(workspace, "activity")
    url.search = query.toString()
    return askJson<ActivityPage>(url, { token })
  },
  prove: async (answer) => ({
    ok: true,
    value: provePage(answer, trustedVkeys()),
  }),
  working: (isWorking) => page.working(isWorking),
  announce,
  opened: (entries, answer) => page.show(<Frame list={entries} answer={answer} />),
  refused: (refusal) => page.show(<Nothing refusal={refusal} />),
})

page.show(<Skeleton />)
void list.load()

/** Without a token, or with one of another kind, the page says only that. */
function Nothing({ refusal }: { readonly refusal: Refusal }) {
  if (isLinkOver(refusal)) return <LinkOver code={refusal.code} whom={workspace} />
  if (!isHidden(refusal))
    return (
      <RefusalSection
        refusal={refusal}
        retry={() => void list.load()}
        isPart={false}
        words={english}
      />
    )
  return (
    <Notice title="Nothing to show">
      This page opens with a link that <Text of={workspace} /> gives to you. Ask for a new one.
    </Notice>
  )
}

interface FrameProps {
  readonly list: Node
  readonly answer: ActivityPage
}

function Frame({ list: entries, answer: { policyVersion } }: FrameProps) {
  return (
    <>
      <h1>Your activity</h1>
      <p class="lead soft">
        What <Text of={workspace} /> has recorded about you, and made visible to you. Nobody,{" "}
        <Text of={workspace} /> included, can change a line without contradicting its receipt.
      </p>
      {entries}
      <footer>
        <p>
          <Mark /> Kept by tallystick. <a href={verifier.href}>Check an entry yourself</a>
        </p>
        {(policyVersion ?? 0) > 0 && <p>Policy in force: version {policyVersion}</p>}
      </footer>
    </>
  )
}
