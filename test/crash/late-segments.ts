// Loaded before the service: its archive folder acknowledges a segment a moment before the segment
// has its name. Until then it is read from the file that is being written, and a kill loses it.

import files from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"

const lateMs = 500
const { open, rename } = files
const unnamed = new Map<string, string>()

Object.assign(files, {
  async rename(from: string, to: string) {
    if (!to.endsWith(".zst")) return rename(from, to)
    unnamed.set(to, from)
    setTimeout(() => void rename(from, to).then(() => unnamed.delete(to)), lateMs)
  },
  open: (path: string, ...rest: [flags: string | number, mode?: number]) =>
    open(unnamed.get(path) ?? path, ...rest),
} satisfies Partial<Record<keyof typeof files, unknown>>)
syncBuiltinESMExports()
