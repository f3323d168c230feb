import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { collectEvidence, type Evidence } from "./evidence.ts"
import { pythonWith } from "./python.ts"
import { flipped } from "../flipped.ts"

// verify.py was written from docs/format.md alone, by somebody who had not seen this program, so
// that page is complete.

const python = pythonWith("cryptography==48.0.0")
const skip = typeof python === "string" ? python : false
const folder = mkdtempSync(join(tmpdir(), "tallystick-evidence-"))
after(() => rmSync(folder, { recursive: true }))
const evidence = skip === false ? await collectEvidence(join(folder, "genuine")) : []

test("every kind of evidence is genuine to a verifier in Python", { skip }, () => {
  assert.ok(evidence.length >= 100)
  const { status, said } = verify("--list", evidence, "genuine")
  assert.equal(status, 0, said)
})

test("no altered evidence is genuine to a verifier in Python", { skip }, () => {
  const altered = evidence.flatMap(alter)
  assert.ok(altered.length >= 100)
  const { status, said } = verify("--altered", altered, "altered")
  assert.equal(status, 0, said)
})

function verify(mode: "--list" | "--altered", list: readonly Evidence[], name: string) {
  writeFileSync(join(folder, name, "list.json"), JSON.stringify(list))
  const bin = typeof python === "string" ? "" : python.bin
  const program = join(import.meta.dirname, "verify.py")
  const args = [program, mode, join(folder, name, "list.json")]
  const { status, stdout, stderr } = spawnSync(join(bin, "python"), args, {
    encoding: "utf8",
    timeout: 120_000,
  })
  return { status, said: stdout + stderr }
}

/** One thing is changed in each copy. */
function alter(one: Evidence, number: number): readonly Evidence[] {
  const path = join(folder, "genuine", one.path)
  const put = (bytes: Uint8Array | string, change: number): Evidence => {
    const name = `${number}-${change}`
    cpSync(join(folder, "genuine", one.path), join(folder, "altered", name), { recursive: true })
    writeFileSync(join(folder, "altered", name), bytes)
    return { ...one, path: name }
  }
  switch (one.kind) {
    case "export":
      return globSync(["checkpoint", "genesis.json", "tile/**", "bodies/*", "disclosures/*"], {
        cwd: path,
        withFileTypes: true,
      })
        .filter((entry) => entry.isFile())
        .map((entry, change) => {
          const name = `${number}-${change}`
          cpSync(path, join(folder, "altered", name), { recursive: true })
          const file = join(
            folder,
            "altered",
            name,
            join(entry.parentPath, entry.name).slice(path.length),
          )
          writeFileSync(file, flippedAt(readFileSync(file), 0.5))
          return { ...one, path: name }
        })
    case "pack":
      return Array.from({ length: 20 }, (_, at) =>
        put(flippedAt(readFileSync(path), (at + 0.5) / 20), at),
      )
    case "proof":
      return [put(flippedAt(readFileSync(path), 0.2), 0)]
    case "receipt":
    case "page":
      return textChanges.flatMap(([from, to], at) => {
        const text = readFileSync(path, "utf8")
        const changed = text.replace(from, to)
        return changed === text ? [] : [put(changed, at)]
      })
  }
}

const textChanges: readonly (readonly [RegExp, string])[] = [
  [/"action":"billing/, '"action":"selling'],
  [/"id":"(=1\+1|usr_1)"/, '"id":"usr_2"'],
  [/"sequence":/, '"sequence":1'],
  [/"verified":true/, '"verified":false'],
  [/"previousHash":"./, '"previousHash":"g'],
  [/"body":"\{/, '"body":"{ '],
  [/"lane":"/, '"lane":"data","lane":"'],
]

function flippedAt(bytes: Uint8Array, where: number): Uint8Array {
  return flipped(bytes, Math.floor(bytes.length * where))
}
