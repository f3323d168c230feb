// The form of index rows in every engine: lists of hashes are concatenated, and the auditor's
// position is JSON.

import { fromHex, hashBytes, toHex } from "@tallystick/proof"
import type { Audit } from "./index-state.ts"

export function splitHashes(joined: Uint8Array): Uint8Array[] {
  return Array.from({ length: joined.length / hashBytes }, (_, place) =>
    joined.slice(place * hashBytes, (place + 1) * hashBytes),
  )
}

export function formatAudit({ tree, ...state }: Audit): string {
  return JSON.stringify({
    ...state,
    tree: { size: tree.size, hashes: tree.hashes.map((hash) => toHex(hash)) },
  })
}

export function parseAudit(state: unknown): Audit | undefined {
  if (typeof state !== "string") return undefined
  // formatAudit wrote it, and changes only the hashes.
  const { tree, ...rest } = JSON.parse(state) as Omit<Audit, "tree"> & {
    tree: { size: number; hashes: string[] }
  }
  return {
    ...rest,
    tree: { size: tree.size, hashes: tree.hashes.flatMap((hash) => fromHex(hash) ?? []) },
  }
}
