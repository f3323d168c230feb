import { canonicalize, parseCanonical } from "./canonical.ts"
import { toHex, utf8 } from "./encoding.ts"
import { isJsonObject } from "./json.ts"
import { policyPath } from "./pack-form.ts"
import type { Sha256 } from "./sha256.ts"

/**
 * The first policy file of a pack that does not state its own hash, or whose version does not match
 * its path.
 */
export function checkPolicies(
  files: ReadonlyMap<string, Uint8Array>,
  hash: Sha256,
): string | undefined {
  for (const [path, content] of files) {
    if (!path.startsWith("policies/")) continue
    const policy = parseCanonical(content)
    if (!isJsonObject(policy)) return path
    const { projectId, version, sections, sectionHash } = policy
    if (typeof projectId !== "string" || typeof version !== "number" || !Array.isArray(sections))
      return path
    if (
      policyPath(projectId, version) !== path ||
      toHex(hash(utf8(canonicalize(sections)))) !== sectionHash
    )
      return path
  }
  return undefined
}
