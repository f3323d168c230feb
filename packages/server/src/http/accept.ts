// Content negotiation by Accept or Accept-Encoding.

/**
 * The offer with the highest weight in the header. The first offer wins a tie, or if there is no
 * header.
 */
export function preferred<Offer extends string>(
  header: string | undefined,
  [usual, ...others]: readonly [Offer, ...Offer[]],
): Offer {
  if (header === undefined) return usual
  const weights = weightsIn(header)
  const weightOf = (offer: string): number =>
    rangesOf(offer).flatMap((range) => weights.get(range) ?? [])[0] ?? 0
  return others.reduce((best, offer) => (weightOf(offer) > weightOf(best) ? offer : best), usual)
}

/**
 * More than any client sends. Reading 16 KiB of them takes eight times as long as the rest of a
 * request.
 */
const rangesMax = 100

/** `text/html;q=0.8, *` is text/html at 0.8 and everything else at 1. */
function weightsIn(header: string): ReadonlyMap<string, number> {
  return new Map(
    header.split(",", rangesMax).map((part) => {
      const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith("q="))
      return [range, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
    }),
  )
}

/** The ranges that match an offer, the most specific first. */
function rangesOf(offer: string): readonly string[] {
  return offer.includes("/") ? [offer, offer.replace(/\/.*/, "/*"), "*/*"] : [offer, "*"]
}
