import assert from "node:assert/strict"
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { verifyExport, verifyPack, verifyReceipt } from "@tallystick/proof"
import { expectChain, readChain, type MintedReceipt } from "./chain.ts"
import { startProgram } from "./crash/programs.ts"
import { flipped } from "./flipped.ts"
import { metric } from "./metrics.ts"
import { tallystick as runCommand, type Ended } from "./program.ts"
import {
  eventually,
  logKeyOf,
  makeWorkspace,
  settingsOf,
  type Client,
  type Service,
  type Workspace,
  writeMany,
} from "./service.ts"
import { untilSigned } from "./until.ts"

// A ledger continues as a second and as a third epoch, after restores that lost its end. Every read
// and operation must be right on both sides of each boundary.

const quickAudit = {
  TALLYSTICK_LIMIT_AUDIT_ENTRIES_PER_SECOND: "100000",
  TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "100",
}

/** Runs a command on a folder, or next to a running service. */
function tallystick(on: string | Service, ...args: readonly string[]): Promise<Ended> {
  return runCommand(args, typeof on === "string" ? { TALLYSTICK_DATA: on } : settingsOf(on))
}

async function well(ran: Promise<Ended>): Promise<string> {
  const { code, output, errors } = await ran
  assert.deepEqual([code, errors], [0, ""], output)
  return output
}

/** Writes, and waits until the last entry is signed. */
async function write(
  { id, path, writer, reader }: Workspace,
  count: number,
): Promise<readonly MintedReceipt[]> {
  const receipts = await writeMany({ id, writer }, count)
  assert.equal((await reader.get(`${path}/receipts/${receipts.at(-1)?.receipt}/proof`)).status, 200)
  return receipts
}

/** With the same credentials: a restore does not change them. */
function at(service: Service, workspace: Workspace): Workspace {
  const again = ({ bearer }: Client) => service.client(bearer)
  return { ...workspace, reader: again(workspace.reader), writer: again(workspace.writer) }
}

/**
 * Copies the data, loses what is written afterwards, and continues from the copy. Without its
 * index, no checkpoint of it is kept.
 */
async function loseEnd(
  service: Service,
  workspace: Workspace,
  lost: number,
  isSigned: boolean,
): Promise<readonly MintedReceipt[]> {
  const { data } = service
  const copy = `${data}-copy`
  await well(tallystick(data, "backup", copy))
  if (!isSigned) rmSync(join(copy, "index.db"))
  const receipts = await write(workspace, lost)
  assert.equal(await service.end(), 0)
  rmSync(data, { recursive: true })
  renameSync(copy, data)
  const said = await well(tallystick(data, "resume"))
  assert.match(
    said,
    new RegExp(
      `${workspace.id}: .*ends at entry \\d+, and \\d+ were signed; it continues in epoch \\d`,
    ),
  )
  return receipts
}

async function makePack(client: Client, path: string, receipts: readonly MintedReceipt[]) {
  return await client.post(`${path}/evidence-packs`, {
    title: "Audit",
    receiptIds: receipts.map(({ receipt }) => receipt),
  })
}

test("every read and operation is right across the epochs of a ledger", async () => {
  await using first = await startProgram({ environment: quickAudit })
  const { data } = first
  const made = await makeWorkspace(first)
  const { id, path } = made
  const kept = [...(await write(made, 600))]
  assert.equal((await first.root.post(`${path}/tlog/keys`, {})).status, 201)
  kept.push(...(await write(made, 3)))
  const pack = (await makePack(made.reader, path, kept.slice(0, 3))).json()
  const zip = (await made.reader.get(`${path}/evidence-packs/${pack.packId}/download`)).bytes
  kept.push(...(await write(made, 2)))
  const before = await readChain(made.reader, id, kept)
  const { text: keysBefore } = await made.reader.get(`${path}/tlog/keys`)

  const lost = [...(await loseEnd(first, made, 4, true))]
  let second: Workspace
  {
    await using service = await startProgram({ data, environment: quickAudit })
    second = at(service, made)
    const { reader } = second
    const fresh = await write(second, 300)
    kept.push(...fresh)
    const chain = await expectChain(reader, id, kept.slice(-330, -280))
    assert.deepEqual(chain.epochs.map(({ origin }) => origin).slice(0, 1), [before.origin])
    assert.notEqual(chain.origin, before.origin)
    const boundary = chain.epochs[1]?.before ?? 0
    await expectPages(reader, path, boundary)
    assert.deepEqual(
      JSON.parse((await reader.get(`${path}/tlog/epochs/1/keys`)).text).keys.length,
      JSON.parse(keysBefore).keys.length,
    )
    await expectPacks(second, { pack, zip, old: kept[0], fresh, boundary })
    await expectRotation(service, second)
    await expectAudited(service, path, chain)
    lost.push(...(await loseEnd(service, second, 2, false)))
  }
  {
    await using service = await startProgram({ data, environment: quickAudit })
    const third = at(service, made)
    kept.push(...(await write(third, 5)))
    const chain = await expectChain(third.reader, id, kept.slice(-20))
    assert.equal(chain.epochs.length, 3)
    await untilSigned(third.reader, path)
    await expectPages(third.reader, path, chain.epochs[2]?.before ?? 0)
    // No checkpoint of the second epoch is left: the genesis of the third proves its entries.
    assert.equal((await third.reader.get(`${path}/tlog/epochs/2/checkpoint`)).status, 404)
    const unsigned = await third.reader.get(`${path}/receipts/${kept.at(-10)?.receipt}/proof`)
    assert.deepEqual([unsigned.status, unsigned.json().error], [404, "not_found"], unsigned.text)
    assert.match(unsigned.json().detail, /the genesis of the next epoch commits to it/)
    for (const { receipt } of lost)
      assert.equal((await third.reader.get(`${path}/receipts/${receipt}`)).status, 404)
    await expectAudited(service, path, chain)
    await expectExport(service, third, chain.size)
    await expectPacks(third, {
      pack,
      zip,
      old: kept[0],
      fresh: kept.slice(-5),
      boundary: chain.epochs[2]?.before ?? 0,
    })
    assert.equal(await service.end(), 0)
  }
  await expectReindexed(data, made, kept)
})

/** A page across a boundary has the proof of each entry, under the keys of both epochs. */
async function expectPages(reader: Client, path: string, boundary: number): Promise<void> {
  const query = `projectId=all&includeSystem=true&storage=all&limit=20&include=proof&cursor=${boundary + 7}`
  const page = await reader.get(`${path}/events?${query}`)
  const { events, verified } = page.json<{
    events: { sequence: number; integrity: string }[]
    verified: boolean
  }>()
  assert.deepEqual(
    [verified, events[0]?.sequence, events.length],
    [true, boundary + 6, 20],
    page.text.slice(0, 300),
  )
  const { epochs } = (await reader.get(`${path}/tlog/epochs`)).json<{
    epochs: { genesis: string }[]
  }>()
  const trustedKeys = await Promise.all(
    epochs.map(async (_, place) =>
      (await reader.get(`${path}/tlog/epochs/${place + 1}/log.vkey`)).text.trimEnd(),
    ),
  )
  const geneses = epochs.map(({ genesis }) => genesis).toReversed()
  const counts = { genuine: 0, pending: 0 }
  for (const { proof, disclosures, ...entry } of events as readonly Record<string, unknown>[]) {
    const alone = verifyReceipt({ entry, proof, disclosures }, { trustedKeys })
    const told = verifyReceipt({ entry, proof, disclosures }, { trustedKeys, geneses })
    assert.equal(told.verdict, alone.verdict)
    // Only the next epoch's genesis proves entries after the last checkpoint that was kept.
    assert.ok(
      alone.verdict === "genuine" ||
        (alone.verdict === "unconfirmed" && alone.because === "not_sealed"),
      JSON.stringify(alone),
    )
    assert.equal(entry["integrity"], alone.verdict === "genuine" ? "verified" : "pending")
    counts[alone.verdict === "genuine" ? "genuine" : "pending"] += 1
  }
  assert.ok(counts.genuine >= 6, JSON.stringify(counts))
}

interface PacksOf {
  readonly pack: { readonly packId: string; readonly packHash: string }
  readonly zip: Buffer
  readonly old: MintedReceipt | undefined
  readonly fresh: readonly MintedReceipt[]
  readonly boundary: number
}

/**
 * An earlier pack is given out unchanged; a new one is of the current epoch and is checked without
 * the service.
 */
async function expectPacks(
  { path, reader }: Workspace,
  { pack, zip, old, fresh, boundary }: PacksOf,
): Promise<void> {
  const again = await reader.get(`${path}/evidence-packs/${pack.packId}/download`)
  assert.deepEqual(
    [again.status, again.bytes.equals(zip)],
    [200, true],
    "an old pack is not what it was",
  )
  const both = await makePack(reader, path, [
    ...(old === undefined ? [] : [old]),
    ...fresh.slice(0, 1),
  ])
  assert.deepEqual([both.status, both.json().error], [400, "invalid_field"], both.text)
  assert.match(
    both.json().detail,
    new RegExp(`begins with entry ${boundary + 1}; entry \\d+ is of an earlier one`),
  )
  const { packId } = (await makePack(reader, path, fresh.slice(0, 4))).json()
  const { bytes } = await reader.get(`${path}/evidence-packs/${packId}/download`)
  const verdict = verifyPack(bytes, { trustedKeys: [await logKeyOf(reader, path)] })
  assert.equal(verdict.verdict, "genuine", JSON.stringify(verdict.checks))
  assert.ok(verdict.entries?.every(({ sequence }) => sequence > boundary + 1))
}

async function expectRotation({ root }: Service, workspace: Workspace): Promise<void> {
  const { path, reader } = workspace
  const trusted = await logKeyOf(reader, path)
  const rotated = (await root.post(`${path}/tlog/keys`, {})).json()
  await write(workspace, 1)
  const { keys } = (await reader.get(`${path}/tlog/keys`)).json<{
    keys: { vkey: string; fromSize: number; toSize: number | null }[]
  }>()
  assert.deepEqual(keys, [
    { vkey: trusted, fromSize: 0, toSize: rotated.fromSize },
    { vkey: rotated.vkey, fromSize: rotated.fromSize, toSize: null },
  ])
  const size = Number((await reader.get(`${path}/tlog/checkpoint`)).text.split("\n")[1])
  assert.ok(rotated.fromSize <= size, "sizes are those of the epoch's own log")
  const answer = (await reader.get(`${path}/receipts/${rotated.receiptId}`)).json()
  assert.equal(
    verifyReceipt(answer, { trustedKeys: [trusted] }).verdict,
    "genuine",
    "both keys have signed for it",
  )
}

/** A whole round of re-verifying, over all epochs, finds nothing. */
async function expectAudited(
  service: Service,
  path: string,
  { size, epochs }: Awaited<ReturnType<typeof readChain>>,
): Promise<void> {
  const round = await metric(service, "tallystick_audit_round")
  await eventually(
    "a whole round",
    async () => (await metric(service, "tallystick_audit_round")) > round + 1,
  )
  assert.equal(await metric(service, "tallystick_audit_failed_entries"), 0)
  assert.ok((await metric(service, "tallystick_audit_verified_entries_total")) >= size)
  const { checkpoint, checked, faults } = (await service.root.get(`${path}/integrity`)).json()
  assert.ok(checkpoint.sequence >= size)
  assert.equal(checkpoint.sequence - checkpoint.size, epochs.at(-1)?.before)
  assert.deepEqual([checked[0].from, faults], [1, []])
  assert.ok(checked[0].to >= size, "all epochs were walked")
}

/**
 * The export of the current epoch, with the earlier ones below it. Without one of them, or with a
 * changed byte, it is refuted.
 */
async function expectExport(
  service: Service,
  { id, path, reader }: Workspace,
  size: number,
): Promise<void> {
  const folder = join(dirname(service.data), "export")
  assert.match(
    await well(tallystick(service, "export", id, folder)),
    new RegExp(`^${size} entries of .*, ${size} of them new`),
  )
  assert.match(
    await well(tallystick(service, "export", id, folder)),
    /^\d+ entries of .*, [01] of them new/,
    "but for the entry of the first one",
  )
  const key = await logKeyOf(reader, path)
  const [{ facts }] = JSON.parse(
    await well(tallystick(service, "verify", folder, "--key", key, "--json")),
  )
  const read = (file: string) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file)) : undefined
  const verdictOf = (files: (file: string) => Uint8Array | undefined) => {
    const verdict = verifyExport(files, { trustedKeys: [key] })
    return verdict.verdict === "refuted" ? `${verdict.failure} ${verdict.file}` : verdict.verdict
  }
  assert.equal(verdictOf(read), "genuine")
  assert.deepEqual([facts.epochs, facts.bodies], [3, facts.entries])
  assert.ok(facts.entries === size || facts.entries === size + 1, `${facts.entries} of ${size}`)
  for (const epoch of ["epochs/1", "epochs/2"]) {
    for (const name of ["checkpoint", "log.vkey", "tile/entries/000"].filter((one) =>
      existsSync(join(folder, epoch, one)),
    )) {
      const served = await reader.get(`${path}/tlog/${epoch}/${name}`)
      assert.deepEqual(served.bytes, readFileSync(join(folder, epoch, name)), `${epoch}/${name}`)
    }
    for (const [name, failure] of [
      ["genesis.json", "epochs"],
      ["bodies/000.jsonl", "content"],
      ["tile/entries/000", "records"],
    ] as const) {
      const changed = (file: string) => {
        const bytes = read(file)
        return file === `${epoch}/${name}` ? flipped(bytes, (bytes?.length ?? 0) >> 1) : bytes
      }
      assert.match(verdictOf(changed), new RegExp(`^${failure} epochs/`), `${epoch}/${name}`)
    }
  }
  assert.equal(
    verdictOf((file) => (file.startsWith("epochs/") ? undefined : read(file))),
    "epochs epochs/1/genesis.json",
  )
}

/**
 * From the journal alone: the trees of all epochs. Checkpoints of former ones are not derived, and
 * are kept.
 */
async function expectReindexed(
  data: string,
  workspace: Workspace,
  kept: readonly MintedReceipt[],
): Promise<void> {
  await well(tallystick(data, "reindex"))
  {
    await using service = await startProgram({ data })
    const { reader } = at(service, workspace)
    await expectChain(reader, workspace.id, kept.slice(0, 3))
    assert.equal(await service.end(), 0)
  }
  await well(tallystick(data, "fsck"))
  rmSync(join(data, "index.db"))
  await using service = await startProgram({ data })
  const { reader, path } = at(service, workspace)
  // The trees are made in the order of the epochs, and the last is signed then.
  await untilSigned(reader, path)
  await expectChain(reader, workspace.id, kept.slice(-3))
  const checkpoint = join(dirname(data), "checkpoint")
  writeFileSync(checkpoint, (await reader.get(`${path}/tlog/epochs/1/checkpoint`)).text)
  assert.equal(await service.end(), 0)
  await well(tallystick(data, "fsck", "--checkpoint", checkpoint))
}

test("a workspace that is younger than the backup: each command says how to give it up", async () => {
  await using first = await startProgram()
  const { data } = first
  const kept = await makeWorkspace(first)
  const receipts = await write(kept, 3)
  const copy = `${data}-copy`
  await well(tallystick(data, "backup", copy))
  const younger = await makeWorkspace(first)
  await write(younger, 3)
  const { origin } = (await first.root.get(younger.path)).json<{ origin: string }>()
  assert.equal(await first.end(), 0)
  rmSync(data, { recursive: true })
  renameSync(copy, data)

  const advice = /if this workspace was given up, remove the line/
  const nowhere = await tallystick(`${data}-mistyped`, "resume")
  assert.match(nowhere.errors, /there is no ledger in .*-mistyped/)
  const resumed = await tallystick(data, "resume")
  assert.equal(resumed.code, 0, resumed.errors)
  // Such as after a kill at the end of the first one.
  const again = await tallystick(data, "resume")
  assert.match(again.output, /nothing to resume/)
  const checked = await tallystick(data, "fsck")
  assert.equal(checked.code, 3)
  for (const { errors } of [resumed, again, checked]) {
    assert.ok(errors.includes(origin), errors)
    assert.match(errors, advice)
  }
  const heads = readFileSync(`${data}.heads`, "utf8").split("\n")
  writeFileSync(`${data}.heads`, heads.filter((line) => !line.startsWith(origin)).join("\n"))
  await well(tallystick(data, "fsck"))
  await using second = await startProgram({ data })
  await expectChain(second.root, kept.id, receipts)
})
