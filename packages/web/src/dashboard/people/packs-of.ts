import type { Pack } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import type { Desk } from "../desk.ts"

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

/** Makes several packs. After a refusal, the next attempt makes only those that are left. */
export function packMaking({ send }: Pick<Desk, "send">) {
  let made: readonly Pack[] = []
  return {
    isBegun: () => made.length > 0,
    async makeRest(
      wanted: ReturnType<typeof packsOf>,
      tell: (count: number, all: number) => void,
    ): Promise<Told<readonly Pack[]>> {
      for (const each of wanted.slice(made.length)) {
        const told = await send<Pack>("POST", ["evidence-packs"], each)
        if (!told.ok) return told
        made = [...made, told.value]
        tell(made.length, wanted.length)
      }
      const value = made
      made = []
      return { ok: true, value }
    },
  }
}
