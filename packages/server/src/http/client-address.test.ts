import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import test from "node:test"
import { clientAddress } from "./client-address.ts"

const from = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  }) as unknown as IncomingMessage // what it looks at

test("X-Forwarded-For counts only from trusted proxies", () => {
  const spoofed = "1.1.1.1, 10.0.0.2"
  assert.equal(clientAddress(false)(from("10.0.0.1", spoofed)), "10.0.0.1")
  assert.equal(clientAddress(true)(from("10.0.0.1", spoofed)), "1.1.1.1")
  assert.equal(clientAddress(true)(from("10.0.0.1")), "10.0.0.1")
})

test("the client's address is the last one that is not a trusted proxy's", () => {
  const addressOf = clientAddress(["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"])
  const rows: readonly (readonly [remote: string, forwarded: string | undefined, is: string])[] = [
    ["10.1.2.3", "1.1.1.1", "1.1.1.1"],
    ["::ffff:10.1.2.3", "1.1.1.1", "1.1.1.1"],
    ["2001:db8::1", "2001:db9::1", "2001:db9::1"],
    ["192.0.2.7", "1.1.1.1, 2.2.2.2, 10.0.0.9", "2.2.2.2"],
    ["192.0.2.8", "1.1.1.1", "192.0.2.8"],
    ["10.1.2.3", undefined, "10.1.2.3"],
    ["10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    ["10.1.2.3", " , ,\t1.1.1.1 ,,", "1.1.1.1"],
    ["10.1.2.3", "1.1.1.1, unknown", "unknown"],
    ["10.1.2.3", "1.1.1.1:5000, 10.0.0.1:80", "1.1.1.1"],
    ["10.1.2.3", "[2001:db9::1]:5000, [2001:db8::1]:80", "2001:db9::1"],
    ["10.1.2.3", "1.1.1.1, [2001:db8::1]", "1.1.1.1"],
    ["10.1.2.3", "1.1.1.1, 192.0.2.8:80", "192.0.2.8"],
  ]
  for (const [remote, forwarded, is] of rows)
    assert.equal(addressOf(from(remote, forwarded)), is, `${remote} says ${forwarded}`)
})
