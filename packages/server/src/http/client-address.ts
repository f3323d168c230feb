// The address of a client: that of its connection, or the one in a trusted proxy's X-Forwarded-For.

import type { IncomingMessage } from "node:http"
import { BlockList, isIP } from "node:net"

export type ClientAddress = (request: IncomingMessage) => string

/** `trustProxy`: whether every proxy is trusted, or the addresses and networks of trusted ones. */
export function clientAddress(trustProxy: boolean | readonly string[]): ClientAddress {
  if (trustProxy === false) return ({ socket }) => socket.remoteAddress ?? ""
  const isTrusted = trustProxy === true ? () => true : inNetworks(trustProxy)
  return ({ socket, headers }) => {
    const forwarded = headers["x-forwarded-for"]?.toString().split(",") ?? []
    let address = socket.remoteAddress ?? ""
    // Each proxy appends the address that it got the request from.
    for (const before of forwarded.toReversed().map((part) => withoutPort(part.trim()))) {
      if (before === "") continue
      if (!isTrusted(address)) break
      address = before
    }
    return address
  }
}

/** Some proxies add the port to an address, and brackets to one of IPv6. */
function withoutPort(named: string): string {
  const [, inner, bare] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(named) ?? []
  return inner ?? bare ?? named
}

function inNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = "", bits] = network.split("/")
    const family = familyOf(address)
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address))
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4"
}
