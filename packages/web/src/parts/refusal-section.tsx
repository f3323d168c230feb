import type { Refusal } from "../ask.ts"
import type { Child } from "../elements/elements.ts"
import { Icon, retryIcon } from "./icon.tsx"
import { Text } from "./text.tsx"
import { Verdict } from "./verdict.tsx"

export const refusalWords = {
  noConnection: "No connection",
  tooManyRequests: "Too many requests",
  failed: "This did not work",
  request: "request",
  retry: "Try again",
}

interface RefusalSectionProps {
  readonly refusal: Refusal
  readonly retry: () => void
  readonly isPart: boolean
  readonly words: Readonly<typeof refusalWords>
  readonly beside?: Child
}

/** Shown instead of the content, with the code, the reason, and a button to retry. */
export function RefusalSection({
  refusal: { status, code, detail, requestId },
  retry,
  isPart,
  words,
  beside,
}: RefusalSectionProps) {
  const sentence = `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`
  const title =
    status === 0 ? words.noConnection : status === 429 ? words.tooManyRequests : words.failed
  return (
    <section class="top" part="refusal" role="alert">
      <Verdict tone="attention" title={title} isPart={isPart}>
        <Text of={sentence} in="p" />
        <p class="small">
          <Text of={code} in="code" />
          {requestId !== undefined && (
            <>
              {`, ${words.request} `}
              <Text of={requestId} in="code" /> {beside}
            </>
          )}
        </p>
        <p class="actions">
          <button type="button" class="button" part="button" onClick={retry}>
            <Icon of={retryIcon} /> {words.retry}
          </button>
        </p>
      </Verdict>
    </section>
  )
}
