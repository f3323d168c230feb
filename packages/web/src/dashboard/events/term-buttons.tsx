// Buttons next to a value: search for entries with it, or exclude them.

import { IconButton } from "../../parts/button.tsx"
import { minusIcon, plusIcon } from "../../parts/icon.tsx"

interface TermProps {
  readonly term: string
  /** Adds a term to the search. */
  readonly find: (term: string) => void
}

/** Shown after a value that a search can name. */
export function Terms({
  term,
  find,
}: Omit<TermProps, "term"> & { readonly term: string | undefined }) {
  if (term === undefined) return <></>
  return (
    <span class="terms">
      <TermButtons term={term} find={find} />
    </span>
  )
}

export function TermButtons({ term, find }: TermProps) {
  const [searches, excludes] = [`Search ${term}`, `Search without ${term}`]
  return (
    <>
      <IconButton icon={plusIcon} label={searches} onClick={() => find(term)} />
      <IconButton icon={minusIcon} label={excludes} onClick={() => find(`-${term}`)} />
    </>
  )
}
