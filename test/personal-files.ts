import { readFileSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { zstdDecompressSync } from "node:zlib"
import { databaseOf } from "./engine.ts"
import { askDatabase } from "./postgres-server.ts"
import { createTextSearch } from "./text-search.ts"

/**
 * The names of the files below a folder, or of the tables of its database, that have one of these
 * texts, in clear or compressed: in parts of segments and in frames of bodies or disclosures.
 */
export async function filesWith(
  folder: string,
  texts: readonly string[],
): Promise<readonly string[]> {
  const search = createTextSearch(texts.flatMap((text) => [text, text.toLowerCase()]))
  const has = (bytes: Uint8Array): boolean => search(bytes) !== undefined
  const database = await databaseOf(folder)
  const found = database === undefined ? [] : [...(await tablesWith(database, has))]
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name)
    // A log may be removed meanwhile.
    if (has(await readFile(path).catch(() => Buffer.alloc(0)))) found.push(name)
    if (packedIn(path).some(has)) found.push(`${name}, unpacked`)
  }
  return found
}

async function tablesWith(
  database: string,
  has: (bytes: Uint8Array) => boolean,
): Promise<readonly string[]> {
  const found = new Set<string>()
  const tables = await askDatabase(
    database,
    "SELECT tablename FROM pg_tables WHERE schemaname = 'tallystick'",
  )
  for (const { tablename } of tables)
    for (const row of await askDatabase(database, `SELECT * FROM tallystick.${String(tablename)}`))
      for (const value of Object.values(row)) {
        const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))
        if (has(bytes)) found.add(String(tablename))
        if (bytes.indexOf(magic) === 0 && has(zstdDecompressSync(bytes)))
          found.add(`${String(tablename)}, unpacked`)
      }
  return [...found]
}

function packedIn(path: string): readonly Uint8Array[] {
  if (path.endsWith(".zst")) return [zstdDecompressSync(readFileSync(path))]
  const sql = path.endsWith("search.db")
    ? "SELECT bytes FROM parts WHERE part > 0"
    : path.endsWith("journal.db")
      ? `SELECT bytes FROM (SELECT 1 AS place, * FROM frames UNION ALL SELECT 2, * FROM disclosures)
         ORDER BY place, workspace, first, part`
      : undefined
  if (sql === undefined) return []
  using database = new DatabaseSync(path, { readOnly: true })
  const packed = database.prepare(sql).all()
  if (path.endsWith("search.db"))
    return packed.map(({ bytes }) => zstdDecompressSync(bytes as Uint8Array))
  return framesOf(Buffer.concat(packed.map(({ bytes }) => bytes as Uint8Array)))
}

const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** A frame lies in several rows: each begins with the number of zstd. */
function framesOf(all: Buffer): readonly Uint8Array[] {
  const frames: Uint8Array[] = []
  for (let at = all.indexOf(magic); at >= 0;) {
    const next = all.indexOf(magic, at + 4)
    frames.push(zstdDecompressSync(all.subarray(at, next < 0 ? undefined : next)))
    at = next
  }
  return frames
}
