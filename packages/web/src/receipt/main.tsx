// The page of one receipt: asks for it, recomputes everything, and asks again while no checkpoint
// covers it.

import { askText, type Refusal } from "../ask.ts"
import { announce, openPage, type Page } from "../parts/page.tsx"
import { Print } from "../parts/button.tsx"
import { NotOpened, Skeleton } from "../parts/refused.tsx"
import { Text } from "../parts/text.tsx"
import { apiUrl, pathParts, root, takeToken } from "../place.ts"
import { trustedKeys } from "../trusted-keys.ts"
import { readReceipt } from "./read-receipt.ts"
import { receiptTitles, ReceiptView } from "./receipt-page.tsx"
import "../style/tokens.css"
import "../style/base.css"
import "./receipt.css"

const [, workspace = "", receiptId = ""] = pathParts()
const api = apiUrl(workspace, "receipts", receiptId)
const token = takeToken("r", workspace, receiptId)
/** One a second. */
const looksMax = 20

interface Received {
  readonly text: string
  readonly at: string
}

type Loaded = Received | { readonly refusal: Refusal; readonly text?: undefined }

let loaded: Loaded | undefined
let page: Page | undefined

/** The server's HTML stays until the page can replace it. */
if (document.querySelector("main") === null) draw()
await look(1)
trustedKeys.watch(draw)

async function look(looks: number): Promise<void> {
  page?.working(true)
  const next = await load()
  // The content stays if a later request fails.
  if (loaded?.text === undefined || next.text !== undefined) loaded = next
  draw()
  page?.working(false)
  if (isUnsealed() && looks < looksMax) setTimeout(() => void look(looks + 1), 1000)
}

async function load(): Promise<Loaded> {
  const told = await askText(api, { token })
  return told.ok ? { text: told.value, at: new Date().toISOString() } : told
}

function isUnsealed(): boolean {
  return loaded?.text !== undefined && ["pending", "unsealed"].includes(readingOf(loaded).outcome)
}

function readingOf({ text, at }: Received) {
  const asked = { receiptId, workspaceId: workspace }
  return readReceipt(text, trustedKeys.get(), Date.parse(at), asked)
}

function draw(): void {
  page ??= openPage({ beside: <Print /> })
  if (loaded?.text === undefined) {
    page.about(<Text of={workspace} />)
    return page.show(loaded === undefined ? <Skeleton /> : <NotReceived refusal={loaded.refusal} />)
  }
  const reading = readingOf(loaded)
  const { projectId } = reading.content
  page.about(
    <>
      <Text of={workspace} />
      {projectId !== undefined && (
        <span class="wide-only">
          , project <Text of={projectId} />
        </span>
      )}
    </>,
  )
  page.show(
    <ReceiptView
      reading={reading}
      text={loaded.text}
      receiptId={receiptId}
      address={location.origin + location.pathname}
      apiAddress={api.href}
      verifierAddress={new URL("verify.html", root).href}
      checkedAt={loaded.at}
    />,
  )
  document.title = `${receiptTitles[reading.outcome]} · Tallystick`
  announce(receiptTitles[reading.outcome])
}

function NotReceived({ refusal }: { readonly refusal: Refusal }) {
  return (
    <NotOpened refusal={refusal} whom={workspace} retry={() => void look(1)}>
      There is no such receipt, or it is private. If somebody sent you here, ask them for a link
      that opens it.
    </NotOpened>
  )
}
