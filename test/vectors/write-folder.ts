// Makes a small data folder with the service of another checkout, for tests that read an older
// version's data:
//
//   node test/vectors/write-folder.ts ../before test/vectors/layout-3
//
// `pack` there says the path of an evidence pack's download, and the SHA-256 of its bytes.

import { createHash } from "node:crypto"
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { makeWriter, runLoad, startService } from "../bench/programs.ts"

const [checkout = "", target = ""] = process.argv.slice(2)
if (checkout === "" || target === "") throw new Error("name a checkout and a folder")

const folder = mkdtempSync(join(tmpdir(), "tallystick-folder-"))
const data = join(folder, "data")
const service = await startService(data, [], checkout)
const writers = [await makeWriter(service.url, "acme"), await makeWriter(service.url, "globex")]
const load = { url: service.url, writers, seconds: 10, run: "written-before" }
await runLoad({ ...load, connections: 2, batch: 10, eventsMax: 60 })
await runLoad({ ...load, connections: 2, batch: 0, eventsMax: 60 })
const packs = `/v1/workspaces/acme/evidence-packs`
const made = await ask(packs, { title: "Of a version before", filter: {} })
const { packId } = (await made.json()) as { packId: string } // what the service answers
const download = `${packs}/${packId}/download`
const bytes = Buffer.from(await (await ask(download)).arrayBuffer())
await service.stop()

mkdirSync(target, { recursive: true })
for (const name of ["journal.db", "index.db"]) {
  using file = new DatabaseSync(join(data, name))
  file.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
  cpSync(join(data, name), join(target, name))
}
cpSync(join(data, "secret"), join(target, "secret"))
cpSync(`${data}.heads`, join(target, "heads"))
writeFileSync(join(target, "pack"), `${download} ${createHash("sha256").update(bytes).digest("hex")}\n`)
rmSync(folder, { recursive: true })

async function ask(path: string, body?: object): Promise<Response> {
  const response = await fetch(service.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${writers[0]?.key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response
}
