// `tallystick rotate`: has another key sign a workspace's log, by way of the running service, with the instance key.

import { StartError } from "../error.ts"
import { asked, type KeysCommand } from "./keys-command.ts"

/**
 * Says, on standard output, the answer about the entry that announces the key: both keys have signed for it, so whoever trusts the one
 * before can check it with `tallystick verify`, and learns the new one from it.
 */
export async function rotateKey({ environment, url, say, remark }: KeysCommand, workspaceId: string): Promise<void> {
  const { rotated, answer } = await asked({ environment, url }, async ({ log, receipts }) => {
    const made = await log.rotateKey(workspaceId)
    return { rotated: made, answer: await receipts.get(workspaceId, made.receiptId) }
  })
  if (typeof answer.proof?.tlogProof !== "string")
    throw new StartError(
      `${workspaceId} has the key ${rotated.vkey} now, and no checkpoint yet that says so; get receipt ${rotated.receiptId} in a second`,
    )
  say(`${JSON.stringify(answer, null, 2)}\n`)
  remark(
    `tallystick: ${rotated.vkey} signs ${workspaceId} from size ${rotated.fromSize} on. Give what was printed to all who keep the key before.\n`,
  )
}
