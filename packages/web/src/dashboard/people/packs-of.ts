/** The service's limit. */
export const packReceiptsMax = 10_000

/** The packs that hold these receipts, as many as it takes. */
export function packsOf(title: string, receiptIds: readonly string[]) {
  const count = Math.ceil(receiptIds.length / packReceiptsMax)
  return Array.from({ length: count }, (_, at) => ({
    title: count === 1 ? title : `${title}, ${at + 1} of ${count}`,
    receiptIds: receiptIds.slice(at * packReceiptsMax, (at + 1) * packReceiptsMax),
  }))
}
