// The reader of the activity: words, language, and how times are shown.

import type { TimeText } from "../parts/time-element.tsx"
import type { englishDetails } from "./detail-phrases.ts"
import type { ActionPhrase, Words } from "./phrases.ts"

export interface Reader {
  readonly words: Words & Partial<typeof englishDetails>
  readonly actions: Readonly<Record<string, ActionPhrase>>
  /** BCP 47, for numbers and times. */
  readonly locale: string
  readonly time: TimeText
  /** Address of a page where the reader checks an entry without this program. */
  readonly verifier: URL
}
