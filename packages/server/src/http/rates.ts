// Rate limits by address or key: a token bucket for each, which refills within a minute.

import { isIPv4, isIPv6 } from "node:net"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { createLru } from "../runtime/lru-cache.ts"

export interface Rate {
  /** Counts one. Throws `rate_limited` if the bucket is empty. */
  take(name: string): void
  /** Undoes one `take`. */
  giveBack(name: string): void
}

export interface RateOptions {
  readonly perMinute: number
  /** Beyond this many buckets the least recently used one is forgotten. */
  readonly bucketsMax: number
  readonly bucketOf: (name: string) => string
  /** What is limited, for the error message. */
  readonly of: string
}

interface Bucket {
  left: number
  atMs: number
}

export interface Rates {
  readonly reads: Rate
  readonly logins: Rate
  readonly keys: Rate | undefined
  readonly downloads: Rate
}

export function createRates(
  clock: Clock,
  limits: Limits,
  keyRequestsPerMinute: number | undefined,
): Rates {
  const rate = (of: string, perMinute: number, bucketOf = (id: string) => id) =>
    createRate(clock, { bucketsMax: limits.rateAddressesMax, bucketOf, perMinute, of })
  const { anonymousReadsPerMinute, failedLoginsPerMinute, packDownloadsPerMinute } = limits
  return {
    reads: rate("reads without a credential from this address", anonymousReadsPerMinute, networkOf),
    logins: rate("failed log-ins from this address", failedLoginsPerMinute, networkOf),
    keys:
      keyRequestsPerMinute === undefined
        ? undefined
        : rate("requests with this key", keyRequestsPerMinute),
    downloads: rate("downloads with this token", packDownloadsPerMinute),
  }
}

export function createRate(
  clock: Clock,
  { perMinute, bucketsMax, bucketOf, of }: RateOptions,
): Rate {
  /** A name without a bucket has a full one. */
  const buckets = createLru<Bucket>(bucketsMax)
  const perMs = perMinute / 60_000

  const fill = (key: string): Bucket => {
    const nowMs = clock.elapsed()
    const bucket = buckets.get(key) ?? { left: perMinute, atMs: nowMs }
    bucket.left = Math.min(perMinute, bucket.left + (nowMs - bucket.atMs) * perMs)
    bucket.atMs = nowMs
    buckets.set(key, bucket)
    return bucket
  }

  return {
    take(name) {
      const bucket = fill(bucketOf(name))
      if (bucket.left < 1) {
        throw new LedgerError(
          "rate_limited",
          `there were too many ${of}; ${perMinute} a minute are allowed`,
          { retryAfterSeconds: Math.ceil((1 - bucket.left) / perMs / 1000) },
        )
      }
      bucket.left -= 1
    },
    giveBack(name) {
      const bucket = fill(bucketOf(name))
      bucket.left = Math.min(perMinute, bucket.left + 1)
    },
  }
}

/** An IPv4 address, or the first 64 bits of an IPv6 address, which are one subscriber. */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address
  // A proxy may send anything. All texts that are no address share one bucket.
  if (!isIPv6(address)) return "none"
  const groups = groupsOf(address.replace(/%.*$/, ""))
  const [, , , , , mapped, high = 0, low = 0] = groups
  const isMapped = mapped === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join(".")
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")
}

/**
 * The eight groups of a valid IPv6 address. `::` stands for some of them, and an IPv4 address at
 * the end for two.
 */
function groupsOf(address: string): readonly number[] {
  const hex = address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, a: string, b: string, c: string, d: string) =>
      [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)]
        .map((group) => group.toString(16))
        .join(":"),
  )
  const [head = [], tail = []] = hex
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))))
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}
