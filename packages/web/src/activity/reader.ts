// For whom activity is drawn: in which words and times.

import type { TimeText } from "../parts/time-element.tsx"
import type { englishDetails } from "./detail-phrases.ts"
import type { ActionPhrase, Words } from "./phrases.ts"

export interface Reader {
  readonly words: Words & Partial<typeof englishDetails>
  readonly actions: Readonly<Record<string, ActionPhrase>>
  /** BCP 47: of numbers and times. */
  readonly locale: string
  readonly time: TimeText
  /** Where the reader checks an entry without this program. */
  readonly verifier: URL
}
