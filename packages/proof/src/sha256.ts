import { sha256 as noble } from "@noble/hashes/sha2.js"

/**
 * SHA-256. Whatever hashes in this package takes one of these as its last argument, so that a
 * program with a faster one can give it. It must not keep its argument: several callers build the
 * preimage in memory that they use again.
 */
export type Sha256 = (bytes: Uint8Array) => Uint8Array

/** The same in every engine, without crypto.subtle, which pages over plain HTTP do not have. */
export const sha256: Sha256 = (bytes) => noble(bytes)
