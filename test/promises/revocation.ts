import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { readChain, type MintedReceipt } from "../chain.ts"
import type { Fault } from "../crash/faults.ts"
import { startProgram } from "../crash/programs.ts"
import {
  eventFor,
  make,
  makeKey,
  makeWorkspace,
  type Client,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import type { Chance } from "../chance.ts"

// Keys and tokens are revoked in use. After the answer, neither the credential nor one that it made
// may be accepted.

export interface RevocationOptions {
  /** Each revokes a token and a key, which ends the key's tokens. */
  readonly rounds: number
  readonly atOnce: number
  readonly chance: Chance
  readonly fault?: Fault
}

export interface Revocations {
  revocations: number
  /** Tokens that ended with the key that had made them. */
  cascaded: number
  /**
   * Requests accepted before the revocation, refused after it, and accepted throughout with a valid
   * credential.
   */
  before: number
  after: number
  spared: number
}

interface Scene {
  readonly service: Service
  readonly workspace: Workspace
  readonly receipt: string
  readonly written: MintedReceipt[]
  readonly counted: Revocations
}

const usesEach = 3
const withinMs = 10_000

export async function revokeUnderTraffic({
  rounds,
  atOnce,
  chance,
  fault,
}: RevocationOptions): Promise<Revocations> {
  await using service = await startProgram({}, fault)
  const workspace = await makeWorkspace(service)
  await service.root.post(`${workspace.path}/published-policy`, {
    sections: [{ id: "a", title: "A", body: "Text" }],
  })
  const first: MintedReceipt & { receipt: string } = (
    await workspace.writer.write(eventFor(workspace.id))
  ).json()
  const counted = { revocations: 0, cascaded: 0, before: 0, after: 0, spared: 0 }
  const scene: Scene = { service, workspace, receipt: first.receipt, written: [first], counted }
  let left = rounds
  const work = async (): Promise<void> => {
    while (left-- > 0) await round(scene, chance.percent(50))
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  await readChain(service.root, workspace.id, scene.written)
  return counted
}

async function round(scene: Scene, keyFirst: boolean): Promise<void> {
  const { service, workspace, receipt, written, counted } = scene
  const { path } = workspace
  const key = await makeKey(service, workspace.id, { scopes: ["read", "write"] })
  const token = async (by: Client, of: string) =>
    service.client((await make(by, `${path}/${of}/token`, {})).token)
  const lasting = await token(workspace.reader, `receipts/${receipt}`)
  const ofReader = await token(workspace.reader, `receipts/${receipt}`)
  const ofKey = [
    await token(key, `receipts/${receipt}`),
    await token(key, "published-policy"),
  ] as const

  const opens = (client: Client) => use(() => client.get(`${path}/receipts/${receipt}`))
  const spared = opens(lasting)
  const reading = use(() => key.get(path))
  const writing = use(async () => {
    const reply = await key.write(eventFor(workspace.id))
    if (reply.status === 202) written.push(reply.json())
    return reply
  })
  const cascade = [opens(ofKey[0]), use(() => ofKey[1].get(`${path}/published-policy/1`))]
  const single = opens(ofReader)
  const all = [spared, reading, writing, ...cascade, single]
  try {
    await Promise.all(
      all.map((user) =>
        user.until((uses) => uses.length >= usesEach, "each credential to be used"),
      ),
    )
    const end = {
      key: () =>
        expectEnded(scene, `${path}/api-keys/${idOf(key)}`, [reading, writing, ...cascade]),
      token: () => expectEnded(scene, `${path}/tokens/${idOf(ofReader)}`, [single]),
    }
    for (const which of keyFirst ? (["key", "token"] as const) : (["token", "key"] as const))
      await end[which]()
    counted.cascaded += cascade.length
  } finally {
    await Promise.all(all.map((user) => user.stop()))
  }
  assert.deepEqual(
    spared.uses.filter(({ said }) => said !== "200"),
    [],
    "a credential that nobody ended was refused",
  )
  counted.spared += spared.uses.length
}

/** Revokes a credential, and checks all later answers to its users. */
async function expectEnded(
  { service, counted }: Scene,
  address: string,
  users: readonly User[],
): Promise<void> {
  for (const { uses } of users)
    for (const { said } of uses)
      assert.match(said, /^20[02]$/, "refused before anybody had ended it")
  counted.before += users.reduce((sum, { uses }) => sum + uses.length, 0)
  assert.equal((await service.root.delete(address)).status, 204)
  const endedMs = performance.now()
  const later = (uses: readonly Use[]) => uses.filter(({ sentMs }) => sentMs > endedMs)
  await Promise.all(
    users.map((user) =>
      user.until((uses) => later(uses).length >= usesEach, "each credential to be used again"),
    ),
  )
  for (const { uses } of users) {
    for (const { sentMs, said } of later(uses))
      assert.equal(
        said,
        "401 token_revoked",
        `a request that was sent ${(sentMs - endedMs).toFixed(1)} ms after the end was let in`,
      )
    counted.after += later(uses).length
  }
  counted.revocations += 1
}

function idOf({ bearer = "" }: Client): string {
  return bearer.split("_")[1] ?? ""
}

// Using -------------------------------------------------------------------------------------------

interface Use {
  readonly sentMs: number
  /** `200`, or of a refusal also its code. */
  readonly said: string
}

interface User {
  readonly uses: readonly Use[]
  until(enough: (uses: readonly Use[]) => boolean, what: string): Promise<void>
  stop(): Promise<void>
}

/** Asks again and again, until it is stopped. */
function use(ask: () => Promise<Reply>): User {
  const uses: Use[] = []
  let going = true
  const asking = (async () => {
    while (going) {
      const sentMs = performance.now()
      const reply = await ask()
      uses.push({
        sentMs,
        said:
          reply.status < 400
            ? `${reply.status}`
            : `${reply.status} ${reply.json<{ error: string }>().error}`,
      })
    }
  })()
  return {
    uses,
    async until(enough, what) {
      const endMs = performance.now() + withinMs
      while (!enough(uses)) {
        if (performance.now() > endMs) throw new Error(`waited ${withinMs} ms in vain for ${what}`)
        await Promise.race([asking, sleep(1)])
      }
    },
    async stop() {
      going = false
      await asking
    },
  }
}
