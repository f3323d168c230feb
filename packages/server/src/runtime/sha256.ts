// SHA-256 by the platform: four to seven times as fast as the portable one in `@tallystick/proof`.

import { hash } from "node:crypto"
import type { Sha256 } from "@tallystick/proof"

// Through a latin1 string, because crypto.hash takes longer to make a buffer than to hash.
export const sha256: Sha256 = (bytes) => Buffer.from(hash("sha256", bytes, "latin1"), "latin1")

/** The digest of a disclosure, in one call. */
export const disclosureDigest = (text: string): string => hash("sha256", text, "base64url")
