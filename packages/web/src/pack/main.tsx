// An evidence pack: fetched with the token of the link when its reader asks for it, checked at once,
// and saved.

import { ask, unreachable, type Told } from "../ask.ts"
import { elementOf, redraw, focusTitle } from "../elements/elements.ts"
import { Button, Print } from "../parts/button.tsx"
import { Icon } from "../parts/icon.tsx"
import { openPage } from "../parts/page.tsx"
import { isHidden, isLinkOver, LinkOver, Notice, Refused } from "../parts/refused.tsx"
import { sizeText } from "../parts/counted.ts"
import { Text } from "../parts/text.tsx"
import { apiUrl, pathParts, takeToken } from "../place.ts"
import { save, saveIcon } from "../save.ts"
import { trustedKeys } from "../trusted-keys.ts"
import { evidenceOfFile } from "../verify/evidence.ts"
import { startJob } from "../verify/job.tsx"
import { TrustedKeys } from "../verify/trusted-keys-view.tsx"
import "../style/tokens.css"
import "../style/base.css"
import "../verify/verify.css"

const [, workspace = "", packId = ""] = pathParts()
const token = takeToken("e", workspace, packId)
const page = openPage({ beside: <Print /> })
page.about(<Text of={workspace} />)

if (token === undefined) page.show(<Nothing />)
else offer()

/** Not fetched automatically, because the ledger records each download, and a pack may be large. */
function offer(): void {
  const place = elementOf(<div class="fetching small soft" />)
  const button = elementOf(
    <Button kind="main" onClick={() => void fetchPack()}>
      <Icon of={saveIcon} /> Fetch and check
    </Button>,
  )
  page.show(
    <section class="top">
      <h1>Evidence pack</h1>
      <p class="lead soft">
        <Text of={workspace} /> gives you entries of its ledger, with everything that proves them.
        They are checked in this browser, and you can keep them. The ledger records that you fetched
        them.
      </p>
      <div class="actions">{button}</div>
      {place}
      <p class="quiet small pack-id">
        <Text of={packId} in="code" />
      </p>
    </section>,
  )

  async function fetchPack(): Promise<void> {
    button.setAttribute("disabled", "")
    redraw(place)
    page.working(true)
    const got = await download((done, total) => {
      const of = total === undefined ? "" : ` of ${sizeText(total)}`
      place.textContent = `Fetching, ${sizeText(done)}${of}`
    })
    page.working(false)
    if (got.ok) return show(got.value)
    const { refusal } = got
    button.removeAttribute("disabled")
    // It has lost it.
    button.focus()
    if (isLinkOver(refusal)) page.show(<LinkOver code={refusal.code} whom={workspace} />)
    else if (isHidden(refusal)) page.show(<Nothing />)
    else redraw(place, <Refused refusal={refusal} retry={() => void fetchPack()} isPart />)
  }
}

async function download(
  tell: (done: number, total: number | undefined) => void,
): Promise<Told<File>> {
  const answer = await ask(apiUrl(workspace, "evidence-packs", packId, "download"), { token })
  if (!answer.ok) return answer
  const length = answer.value.headers.get("content-length")
  const parts: BlobPart[] = []
  let done = 0
  try {
    for await (const part of answer.value.body ?? []) {
      parts.push(part)
      done += part.length
      tell(done, length === null ? undefined : Number(length))
    }
  } catch {
    return unreachable("the pack was cut off")
  }
  return { ok: true, value: new File(parts, `${packId}.zip`, { type: "application/zip" }) }
}

function show(file: File): void {
  const job = startJob(evidenceOfFile(file), () => {
    unwatch()
    offer()
  })
  const unwatch = trustedKeys.watch(() => job.recheck())
  page.show(
    <section class="top">
      <h1>Evidence pack</h1>
      <div class="actions pack-actions">
        <Button kind="main" onClick={() => save(file.name, file, file.type)}>
          <Icon of={saveIcon} /> Save the pack
        </Button>
      </div>
    </section>,
    job.place,
    <TrustedKeys />,
  )
  focusTitle(document)
}

function Nothing() {
  return (
    <Notice title="Nothing to show">
      A pack opens with a link that <Text of={workspace} /> gives to you. Ask for a new one.
    </Notice>
  )
}
