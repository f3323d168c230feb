// `tallystick receipts`: gets a receipt or its proof, and checks the receipt from its bytes alone.

import { existsSync } from "node:fs"
import { TallystickError, type Client, type ReceiptAnswer } from "@tallystick/client"
import {
  examineFile,
  parseVkey,
  printable,
  printableJson,
  utf8,
  type Finding,
} from "@tallystick/proof"
import { ConfigError } from "../config.ts"
import { StartError } from "../error.ts"
import { textOf } from "../query/entry-columns.ts"
import { replaceFile } from "../runtime/durable-file.ts"
import { userServiceOf, type AskingTerminal } from "./service-calls.ts"
import { exitCodeOf, notVkey, textOf as textOfFinding } from "./verify-command.ts"

export interface GetOptions {
  /** Vkeys that the caller got from another source than the service. */
  readonly key?: readonly string[]
  readonly out?: string
  readonly json: boolean
}

/** Returns the exit code of `verify`. */
export async function getReceipt(
  terminal: AskingTerminal,
  workspaceId: string,
  receiptId: string,
  { key: trustedKeys = [], out, json }: GetOptions,
): Promise<number> {
  const unusable = trustedKeys.find((key) => parseVkey(key)?.type !== "log")
  if (unusable !== undefined) throw new ConfigError(`--key: ${printable(notVkey(unusable))}`)
  const { ask } = userServiceOf(terminal, { needsKey: false })
  const answer = await ask((client) => sealedAnswer(client, workspaceId, receiptId))
  const text = `${JSON.stringify(answer, null, 2)}\n`
  const asked = { receiptId, workspaceId }
  const [finding] = examineFile(utf8(text), { trustedKeys, geneses: [], ...asked })
  if (finding?.what !== "receipt")
    throw new StartError("the service's answer is not about a receipt")
  if (out !== undefined) {
    if (existsSync(out)) throw new StartError(`${out} already exists`)
    // For its owner alone: it may contain personal data.
    replaceFile(out, text)
  }
  // The service's own `verified` is left out: the finding says what was checked here.
  const { receipt, entry } = answer
  const facts = { ...membersOf(entry, finding), ...finding.facts }
  if (json) terminal.say(`${printableJson({ receipt, entry, finding })}\n`)
  else terminal.say(textOfFinding({ ...finding, file: receiptId, facts }))
  if (trustedKeys.length === 0 && finding.because === "key_not_trusted")
    terminal.remark(
      "tallystick: the service itself named this key; to confirm the receipt, give the log's key from another source with --key\n",
    )
  return exitCodeOf([finding])
}

/**
 * The answer with a checkpoint that covers the entry: a request for the proof makes the service
 * sign one.
 */
async function sealedAnswer(
  { receipts }: Client,
  workspaceId: string,
  receiptId: string,
): Promise<ReceiptAnswer> {
  const answer = await receipts.get(workspaceId, receiptId)
  // The answer may be any object.
  if ((answer as Partial<ReceiptAnswer>).proof?.tlogProof !== null) return answer
  try {
    await receipts.proof(workspaceId, receiptId)
  } catch (error) {
    // The log of a former epoch is not signed any more.
    if (error instanceof TallystickError && error.code === "not_found") return answer
    throw error
  }
  return await receipts.get(workspaceId, receiptId)
}

/**
 * Members of the entry for people, without those that the finding already states, and those that
 * nothing covers: the service could give them the name of a fact. It may send any form.
 */
function membersOf(
  entry: object | undefined,
  { notCovered }: Finding,
): Readonly<Record<string, string>> {
  const members = Object.entries(entry ?? {})
    .filter(([name]) => !said.has(name) && !notCovered.includes(`entry.${name}`))
    .flatMap(([name, value]: [string, unknown]) =>
      ["actor", "target"].includes(name) && typeof value === "object" && value !== null
        ? Object.entries(value).map(([inner, part]) => [`${name}.${inner}`, textOf(part)] as const)
        : [[name, textOf(value)] as const],
    )
  return Object.fromEntries(members)
}

/** The finding states the recomputed values of these. `integrity` is only the service's claim. */
const said: ReadonlySet<string> = new Set(["action", "hash", "timestamp", "integrity"])

/** Prints the tlog-proof, which `verify` reads. */
export async function printProof(
  terminal: AskingTerminal,
  workspaceId: string,
  receiptId: string,
): Promise<void> {
  const { ask } = userServiceOf(terminal, { needsKey: false })
  terminal.say(await ask(({ receipts }) => receipts.proof(workspaceId, receiptId)))
}
