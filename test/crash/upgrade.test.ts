import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { readZip } from "@tallystick/proof"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { tallystick } from "../program.ts"
import { eventFor, makeKey } from "../service.ts"
import { makeDisk, noDisk } from "./disks.ts"
import { failedStart, startProgram } from "./programs.ts"
import { skipUnlessStrict } from "./strict.ts"

// Data of an older version, used by this one. test/vectors/write-folder.ts made it.

const vectors = join(import.meta.dirname, "..", "vectors")
const former = join(vectors, "layout-3")

test("data of an older version is checked and copied unchanged; a start upgrades it, and writing goes on", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const data = join(folder, "data")
  cpSync(former, data, { recursive: true })
  cpSync(join(former, "heads"), `${data}.heads`)
  {
    using search = new DatabaseSync(join(data, "search.db"))
    search.exec("CREATE TABLE searchable (n INTEGER PRIMARY KEY); PRAGMA user_version = 2;")
  }
  const settings = { TALLYSTICK_DATA: data }
  for (const command of [["fsck"], ["backup", join(folder, "copy")]]) {
    const { code, output, errors } = await tallystick(command, settings)
    assert.equal(code, 0, output + errors)
  }

  const written: MintedReceipt[] = []
  for (const start of [1, 2]) {
    await using service = await startProgram({ data })
    assert.equal(
      /upgrading the data to the layout of this version/.test(service.log()),
      start === 1,
    )
    for (const id of ["acme", "globex"]) {
      const { bearer } = await makeKey(service, id, { scopes: ["read", "write"] })
      const client = service.client(bearer)
      const reply = await client.write(eventFor(id), `written-at-start-${start}`)
      assert.equal(reply.status, 202, reply.text)
      if (id === "acme") written.push(reply.json())
      await expectChain(client, id, id === "acme" ? written : [])
    }
    assert.equal(await service.end(), 0)
    const { code, output, errors } = await tallystick(["fsck"], settings)
    assert.equal(code, 0, output + errors)
  }
})

test("an evidence pack of an older version is served unchanged, and a new one has the verifier", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const data = join(folder, "data")
  const written = join(vectors, "pack-without-verifier")
  cpSync(written, data, { recursive: true })
  cpSync(join(written, "heads"), `${data}.heads`)
  const [path = "", hash] = readFileSync(join(written, "pack"), "utf8").trim().split(" ")
  const settings = { TALLYSTICK_DATA: data }
  {
    await using service = await startProgram({ data })
    const { bytes } = await service.root.get(path)
    assert.equal(createHash("sha256").update(bytes).digest("hex"), hash)
    const pack = { title: "Of this version", filter: {} }
    const made = await service.root.post("/v1/workspaces/acme/evidence-packs", pack)
    assert.equal(made.status, 201, made.text)
    const own = path.replace(/pack_\w+/, made.json().packId)
    const files = readZip(new Uint8Array((await service.root.get(own)).bytes))
    const carried = Buffer.from(files?.get("verify.html") ?? assert.fail()).toString()
    assert.equal(carried, (await service.client().get("/verify.html")).text)
    await expectChain(service.root, "acme")
    assert.equal(await service.end(), 0)
  }
  // A copy knows it, too.
  const copy = join(folder, "copy")
  for (const command of [["fsck"], ["backup", copy]]) {
    const { code, output, errors } = await tallystick(command, settings)
    assert.equal(code, 0, output + errors)
  }
  const { code, output, errors } = await tallystick(["fsck"], { TALLYSTICK_DATA: copy })
  assert.equal(code, 0, output + errors)
})

test(
  "an upgrade on a full disk ends with a sentence, and keeps what it has copied",
  { skip: skipUnlessStrict(noDisk("ext4")) },
  async () => {
    using disk = makeDisk("ext4")
    const data = join(disk.path, "data")
    cpSync(former, data, { recursive: true })
    cpSync(join(former, "heads"), `${data}.heads`)
    {
      using journal = new DatabaseSync(join(data, "journal.db"))
      // There is space for the copy, but not for its log.
      journal.exec("DROP TRIGGER bodies_are_not_changed")
      journal.exec("UPDATE bodies SET salted = zeroblob(6000000) WHERE n <= 4")
    }
    // The second start finds what the first one copied, and no space for the rest.
    for (const sentence of [
      /^tallystick: the disk of .* was full before the journal was copied/m,
      /^tallystick: the journal is copied into .* needs \d+ MiB of free space/m,
    ]) {
      const { code, errors } = await failedStart({ TALLYSTICK_DATA: data })
      assert.equal(code, 1, errors)
      assert.match(errors, sentence)
      assert.doesNotMatch(errors, / {4}at /)
    }
  },
)
