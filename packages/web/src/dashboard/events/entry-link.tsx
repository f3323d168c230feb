// The hash of an entry, and its link to the one before it.

import { Copy } from "../../parts/copy.tsx"
import { numbered } from "../../parts/counted.ts"
import { Hash } from "../../parts/hash.tsx"
import { Icon, checkIcon, crossIcon } from "../../parts/icon.tsx"
import { beginsLedger } from "./begins-ledger.ts"
import type { OpenedEntry } from "./explorer-entry.ts"

interface LinkProps {
  readonly opened: OpenedEntry
  readonly entryHref: (sequence: number) => string
}

/** The two ends of the link that must be equal: the picture is the check. */
export function EntryLink({ opened: { entry, found, ...opened }, entryHref }: LinkProps) {
  const isFirst = beginsLedger(entry)
  const before = isFirst ? undefined : opened.before
  const hash = found.hash ?? entry.hash
  const previous = found.previousHash ?? entry.previousHash
  const isEqual = before?.hash === previous
  return (
    <>
      <h3>
        Hash <span class="quiet">SHA-256</span>
        <Copy text={hash} label="Copy hash" />
      </h3>
      <p class="hash-of-entry">
        <Hash of={hash} />
      </p>
      <h3>
        Previous{" "}
        {before === undefined ? (
          <span class="quiet">{isFirst ? "the ledger itself" : ""}</span>
        ) : (
          <a href={entryHref(before.sequence)}>{numbered(before.sequence)}</a>
        )}
        <Copy text={previous} label="Copy previous hash" />
      </h3>
      <p class="hash-of-entry">
        <Hash of={previous} />
      </p>
      {before !== undefined && (
        <p class="join">
          <span>{numbered(before.sequence)} is</span>
          <b>{before.hash.slice(-4)}</b>
          <span class={isEqual ? "intact" : "broken"}>
            <Icon of={isEqual ? checkIcon : crossIcon} />
            <span class="unseen">{isEqual ? "equal" : "not equal"}</span>
          </span>
          <b>{previous.slice(-4)}</b>
          <span>says {numbered(entry.sequence)}</span>
        </p>
      )}
    </>
  )
}
