import type { CreatedEvidenceToken, Pack } from "@tallystick/client/wire"
import { Button } from "../../parts/button.tsx"
import { Icon } from "../../parts/icon.tsx"
import { saveIcon } from "../../save.ts"
import { Text, Unseen } from "../../parts/text.tsx"
import { apiUrl } from "../../place.ts"
import type { Desk } from "../desk.ts"
import { openLinkDialog } from "../link-dialog.tsx"

interface HandOutProps {
  readonly desk: Desk
  readonly pack: Pack
  readonly made?: (() => void) | undefined
}

export function HandOut({ desk, pack, made }: HandOutProps) {
  const { packId, title } = pack
  return (
    <span class="hand-out">
      <a
        class="button"
        download={`${packId}.zip`}
        href={apiUrl(desk.workspace, "evidence-packs", packId, "download").href}
        onClick={onlyOnce}
      >
        <Icon of={saveIcon} /> Download
        <Unseen of={title} />
      </a>
      <Button onClick={() => openLink(desk, pack, made)}>
        Link
        <Unseen after=" to " of={title} />
      </Button>
    </span>
  )
}

/** A double click would be two downloads, and the ledger records each. */
function onlyOnce(event: Event): void {
  if (event instanceof UIEvent && event.detail > 1) event.preventDefault()
}

function openLink(desk: Desk, { packId, title }: Pack, made?: () => void): void {
  openLinkDialog<CreatedEvidenceToken>(desk, {
    title: "Link to this pack",
    path: ["evidence-packs", packId, "token"],
    daysUsual: 30,
    daysMax: 90,
    made,
    address: ({ pageUrl }) => pageUrl,
    opens: "Whoever opens this link sees what the pack holds, verifies it, and may download it.",
    children: (
      <p class="soft">
        “<Text of={title} />
        ”, for somebody who does not sign in here. They read its entries whole: names, e-mails and
        metadata of everybody in them.
      </p>
    ),
  })
}
