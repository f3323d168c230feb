// Loaded before `tallystick compact`: it removes the former journal, and only then gives the new one
// its name.

import files from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const { renameSync } = files
files.renameSync = (from, to) => {
  files.rmSync(to, { force: true })
  renameSync(from, to)
}
syncBuiltinESMExports()
