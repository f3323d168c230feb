// Beside a value: search for what has it, and for all that has not.

import { Icon, minusIcon, plusIcon } from "../../parts/icon.tsx"

interface TermProps {
  readonly term: string
  /** Adds a term to the search. */
  readonly find: (term: string) => void
}

/** At the end of a value that a search can name. */
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
      <button
        type="button"
        class="icon-button"
        aria-label={searches}
        title={searches}
        onClick={() => find(term)}
      >
        <Icon of={plusIcon} />
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label={excludes}
        title={excludes}
        onClick={() => find(`-${term}`)}
      >
        <Icon of={minusIcon} />
      </button>
    </>
  )
}
