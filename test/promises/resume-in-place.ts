import { readFileSync, writeFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { openSqliteStopped } from "../../packages/server/src/store/sqlite/offline.ts"

// Continues a copy under its old name even if entries are missing, which `tallystick resume` must
// not do:
//
//     node test/promises/resume-in-place.ts resume [--check] [--json]

if (import.meta.main && !process.argv.includes("--check")) {
  const data = process.env["TALLYSTICK_DATA"] ?? ""
  const store = openSqliteStopped(data)
  store.takeOffMark()
  await store.close()
  // Forgets what was signed for the ledgers in the data.
  using journal = new DatabaseSync(`${data}/journal.db`, { readOnly: true })
  const values = journal.prepare("SELECT value FROM documents WHERE kind = 'workspace'").all()
  const lines = readFileSync(`${data}.heads`, "utf8").split("\n")
  writeFileSync(
    `${data}.heads`,
    lines
      .filter(
        (line) => !values.some(({ value }) => String(value).includes(`${line.split(" ")[0]}"`)),
      )
      .join("\n"),
  )
}
