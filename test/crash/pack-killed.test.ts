import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import { test } from "node:test"
import { readZip, verifyPack } from "@tallystick/proof"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { createChance, seedOf } from "../chance.ts"
import {
  eventFor,
  logKeyOf,
  makeWorkspace,
  settingsOf,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import { startProgram } from "./programs.ts"

// A pack and the verifier that it carries are recorded together, or neither.

const rounds = 8

test("killed while packs are made: each stored pack has its verifier, and verifies", async (t) => {
  const chance = createChance(seedOf(t))
  const first = await startProgram()
  const { data } = first
  await using _ = first
  // The first pack of each keeps the verifier; two are made at once.
  const workspaces: Workspace[] = []
  for (let round = 0; round < rounds; round++) {
    const workspace = await makeWorkspace(first)
    assert.equal((await workspace.writer.write(eventFor(workspace.id))).status, 202)
    workspaces.push(workspace)
  }
  let service = first
  let found = 0
  for (const { path, id } of workspaces) {
    const make = (): Promise<Reply | undefined> =>
      service.root.post(`${path}/evidence-packs`, { title: "T", filter: {} }).catch(() => undefined)
    const made = [make(), make()]
    await sleep(chance.below(60))
    await service.end("SIGKILL")
    const answers = await Promise.all(made)
    service = await startProgram({ data })
    const listed = await packsOf(service, path)
    found += listed.length
    for (const answer of answers)
      if (answer?.status === 201)
        assert.ok(listed.includes(answer.json().packId), "an acknowledged pack is there")
    for (const packId of listed) await expectVerifier(service, path, packId)
    // After any interruption the next pack is made.
    const next = (await make()) ?? assert.fail("a running service answers")
    assert.equal(next.status, 201, next.text)
    await expectVerifier(service, path, next.json().packId)
    await expectChain(service.root, id)
  }
  t.diagnostic(`${found} of ${2 * rounds} packs were recorded`)
  assert.equal(await service.end(), 0)
  const { code, output, errors } = await tallystick(["fsck"], settingsOf(service))
  assert.equal(code, 0, output + errors)
})

async function packsOf(service: Service, path: string): Promise<readonly string[]> {
  const { packs } = (await service.root.get(`${path}/evidence-packs`)).json<{
    packs: readonly { packId: string }[]
  }>()
  return packs.map(({ packId }) => packId)
}

async function expectVerifier({ root }: Service, path: string, packId: string): Promise<void> {
  const reply = await root.get(`${path}/evidence-packs/${packId}/download`)
  assert.equal(reply.status, 200, reply.text)
  const trustedKeys = [await logKeyOf(root, path)]
  const bytes = new Uint8Array(reply.bytes)
  assert.equal(verifyPack(bytes, { trustedKeys }).verdict, "genuine")
  const carried = readZip(bytes)?.get("verify.html")
  assert.equal(new TextDecoder().decode(carried), (await root.get("/verify.html")).text)
}
