// The checks of one entry, and a button to save it.

import { Copy } from "../parts/copy.tsx"
import { Facts } from "../parts/facts.tsx"
import { Hash } from "../parts/hash.tsx"
import { Icon } from "../parts/icon.tsx"
import { Text } from "../parts/text.tsx"
import { TimeElement } from "../parts/time-element.tsx"
import { save, saveIcon } from "../save.ts"
import { englishDetails } from "./detail-phrases.ts"
import type { RowProps } from "./entry-row.tsx"
import { filled } from "./phrases.ts"

export function EntryDetails({ of: { entry, verdict, state }, reader }: RowProps) {
  const { time, locale, verifier } = reader
  const words = { ...englishDetails, ...reader.words }
  const { eventHash, checkpoint } = verdict
  return (
    <>
      <p class="small soft">{words[`${state}Says`]}</p>
      <Facts
        rows={[
          [words.recorded, <TimeElement at={entry.timestamp} text={time} />],
          [words.entry, `#${entry.sequence.toLocaleString(locale)}`],
          [words.action, <Text of={entry.action} />],
          [words.hash, eventHash === undefined ? undefined : <Hash of={eventHash} />],
          [
            words.signedFor,
            checkpoint && filled(words.entries, { count: checkpoint.size.toLocaleString(locale) }),
          ],
          [
            words.key,
            checkpoint &&
              (verdict.verdict === "genuine" ? words.keyTrusted : words.keyNotConfirmed),
          ],
          [
            words.receipt,
            <>
              <Text of={entry.receipt} in="code" />
              <Copy text={entry.receipt} label={words.copyReceipt} words={words} />
            </>,
          ],
        ]}
      />
      <div class="actions">
        <button
          type="button"
          class="button"
          part="button"
          onClick={() => save(`${entry.receipt}.json`, JSON.stringify(entry), "application/json")}
        >
          <Icon of={saveIcon} /> {words.save}
        </button>
        <a class="button" part="button" href={verifier.href} target="_blank" rel="noopener">
          {words.verify}
        </a>
      </div>
    </>
  )
}
