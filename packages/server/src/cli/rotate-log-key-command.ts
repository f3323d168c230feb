// `tallystick rotate`: gives a workspace's log a new signing key, through the running service.

import { StartError } from "../error.ts"
import { asked, type AskingTerminal } from "./service-calls.ts"
import { jsonText } from "./terminal.ts"

/**
 * Prints the verified answer about the entry that announces the new key. Both keys sign it: anyone
 * who trusts the old key can check it with `tallystick verify` and learn the new key from it.
 */
export async function rotateKey(terminal: AskingTerminal, workspaceId: string): Promise<void> {
  const { rotated, answer } = await asked(terminal, async ({ log, receipts }) => {
    const made = await log.rotateKey(workspaceId)
    return { rotated: made, answer: await receipts.get(workspaceId, made.receiptId) }
  })
  if (typeof answer.proof?.tlogProof !== "string")
    throw new StartError(
      `${workspaceId} has the new key ${rotated.vkey}, and no checkpoint announces it yet; get receipt ${rotated.receiptId} in a second`,
    )
  terminal.say(jsonText(answer))
  terminal.remark(
    `tallystick: ${rotated.vkey} signs ${workspaceId} from size ${rotated.fromSize} on. Send the output to everyone who keeps the old key.\n`,
  )
}
