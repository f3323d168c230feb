import assert from "node:assert/strict"
import { verifyPack } from "@tallystick/client"
import { browserOf } from "../people.ts"
import { logKeyOf, make, type Client, type Service } from "../service.ts"
import { isThere, namedIn, type Credential, type Model, type ModelPack } from "./ledger-model.ts"
import { expectMember, openSessions } from "./members-and-sessions.ts"
import { nowOf, signed, started, type OperatedLedger } from "./operated-ledger.ts"

// Evidence packs, and keys and tokens: what was given to others, and what it must show.

export async function makePack(ledger: OperatedLedger): Promise<void> {
  const { chance, model, people } = ledger
  const { root } = await signed(ledger)
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const own = model.entries.filter((entry) => entry.workspace === workspace && isThere(entry))
  const subject = chance.pick(people).id
  const isOfConsents = chance.percent(30)
  const some = isOfConsents
    ? own.filter(({ consent, person }) => consent !== undefined && person.id === subject)
    : own.slice(-1 - chance.below(40))
  if (some.length === 0) return
  const chosen = isOfConsents
    ? { consents: { subject } }
    : { receiptIds: some.map(({ receipt }) => receipt.receipt) }
  const made = await root.post(`${path}/evidence-packs`, { title: "For a test", ...chosen })
  // After a restore, the last ones may be of a former epoch.
  if (made.status === 400 && /of the current epoch only/.test(made.text)) return
  assert.equal(made.status, 201, made.text)
  const { packId: id, packHash } = made.json()
  const entries = some.map(({ receipt }) => receipt.eventHash)
  const pack = { workspace, id, packHash, vkey: await logKeyOf(root, path), entries }
  model.packs.push(pack)
  await expectPack(root, model, pack)
}

export async function makeCredential(ledger: OperatedLedger): Promise<void> {
  const { chance, model, people } = ledger
  const service = await started(ledger)
  const workspace = chance.pick(model.workspaces)
  const path = `/v1/workspaces/${workspace}`
  const own = model.entries.filter((entry) => entry.workspace === workspace)
  if (own.length === 0) return
  const packs = model.packs.filter((pack) => pack.workspace === workspace)
  const type = chance.pick(["write", "read", "receipt", "evidence", "activity"] as const)
  if (type === "write" || type === "read") {
    const made = await make(service.root, `${path}/api-keys`, { name: "a key", scopes: [type] })
    const { key: bearer, keyId: id } = made
    model.credentials.push({ workspace, id, bearer, type, expiresMs: Infinity })
    return
  }
  const keys = model.credentials
    .filter((one) => one.workspace === workspace && one.type === "read" && one.ended === undefined)
    .map(({ id, bearer }) => ({ id, client: service.client(bearer) }))
  const members = model.members
    .filter(({ roles }) => roles[workspace] !== undefined)
    .flatMap((member) =>
      openSessions(ledger, member).map(({ cookie }) => {
        return { id: member.id, client: browserOf(service.client(), cookie) }
      }),
    )
  const makers = [...keys, ...members]
  const by = makers.length > 0 && chance.percent(60) ? chance.pick(makers) : undefined
  const of =
    type === "receipt"
      ? chance.pick(own).receipt.receipt
      : type === "activity"
        ? chance.pick(people).id
        : packs.length > 0 && chance.pick(packs).id
  if (of === false) return
  const place = {
    receipt: `receipts/${of}`,
    evidence: `evidence-packs/${of}`,
    activity: "activity",
  }
  const body = type === "activity" ? { projectId: "core", subject: of } : {}
  const made = await make(by?.client ?? service.root, `${path}/${place[type]}/token`, body)
  const { token: bearer, tokenId: id, expiresAt } = made
  const expiresMs = Date.parse(expiresAt)
  const maker = by === undefined ? {} : { by: by.id }
  model.credentials.push({ workspace, id, bearer, type, of, ...maker, expiresMs })
}

export async function revokeCredential(ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const { root } = await started(ledger)
  const one = chance.pick(model.credentials)
  if (one.ended === "unauthorized") return
  const kind = one.type === "write" || one.type === "read" ? "api-keys" : "tokens"
  const ended = await root.delete(`/v1/workspaces/${one.workspace}/${kind}/${one.id}`)
  assert.equal(ended.status, 204, ended.text)
  for (const other of model.credentials)
    if (other === one || other.by === one.id) other.ended ??= "token_revoked"
}

// Checks ------------------------------------------------------------------------------------------

const sampled = 4

export async function expectHandedOut(ledger: OperatedLedger): Promise<void> {
  const { chance, model } = ledger
  const service = await started(ledger)
  for (let at = 0; at < sampled; at++) {
    if (model.packs.length > 0) await expectPack(service.root, model, chance.pick(model.packs))
    if (model.credentials.length > 0)
      await expectCredential(service, ledger, chance.pick(model.credentials))
    if (model.members.length > 0) await expectMember(service, ledger)
  }
}

async function expectPack(client: Client, model: Model, pack: ModelPack): Promise<void> {
  const { workspace, id, packHash, vkey } = pack
  const reply = await client.get(`/v1/workspaces/${workspace}/evidence-packs/${id}/download`)
  const entries = model.entries.filter(({ receipt }) => pack.entries.includes(receipt.eventHash))
  assert.equal(entries.length, pack.entries.length, "a pack has entries of the model")
  if (!entries.every(isThere)) {
    assert.deepEqual([reply.status, reply.json().error], [410, "content_gone"])
    return
  }
  assert.equal(reply.status, 200, reply.text.slice(0, 800))
  const verdict = verifyPack(new Uint8Array(reply.bytes), { trustedKeys: [vkey] })
  const { checks, verdict: said } = verdict
  assert.deepEqual([said, verdict.packHash], ["genuine", packHash], JSON.stringify(checks))
  // Its files are stored as they are: each line of a disclosure is in base64url.
  const sealed = reply.bytes
    .toString("latin1")
    .replaceAll(/\bWy[IJ][\w-]+/g, (text) => Buffer.from(text, "base64url").toString())
  const named = new Set(entries.flatMap(namedIn).map(({ email }) => email))
  for (const { person, target = person } of entries)
    for (const { email } of [person, target])
      assert.equal(sealed.includes(`"${email}"`), named.has(email), `${id}: ${email}`)
}

async function expectCredential(
  service: Service,
  ledger: OperatedLedger,
  one: Credential,
): Promise<void> {
  const leftMs = one.expiresMs - nowOf(ledger)
  if (Math.abs(leftMs) < 60_000) return
  const error = one.ended ?? (leftMs < 0 ? "token_expired" : undefined)
  const reply = await used(service.client(one.bearer), ledger.model, one)
  const about = `${one.type}, ${error}: ${reply.status} ${reply.text.slice(0, 400)}`
  if (error === undefined) assert.ok([200, 202, 400, 410].includes(reply.status), about)
  else assert.deepEqual([reply.status, reply.json().error], [401, error], about)
}

function used(client: Client, { entries }: Model, { workspace, type, of }: Credential) {
  const path = `/v1/workspaces/${workspace}`
  switch (type) {
    case "write": {
      const own = entries.findLast(
        (one) => one.workspace === workspace && one.consent === undefined,
      )
      // Refused as invalid where there is no event, but let in.
      return client.write(own?.event ?? {}, own?.key)
    }
    case "read":
      return client.get(`${path}/events?limit=1`)
    case "receipt":
      return client.get(`${path}/receipts/${of}`)
    case "evidence":
      return client.get(`${path}/evidence-packs/${of}/download`)
    case "activity":
      return client.get(`${path}/activity`)
  }
}
