// Who made a key, a token or a member, for people. Documents name the maker by id alone. Keys are
// never removed, so an id that is no key's is a member's.

import type { Maker } from "@tallystick/client/wire"
import type { Registry } from "../store/store.ts"
import { instanceWorkspace } from "./permissions.ts"

/** `id`: as `nameOf` made it. A member who left is named as long as the account exists. */
export async function makerOf(
  registry: Pick<Registry, "get">,
  workspace: string,
  id: string,
): Promise<Maker> {
  if (id === "instance") return { type: "instance" }
  const key = await registry.get("api-key", workspace, id)
  if (key !== undefined) return { type: "api_key", id, name: key.value.name }
  const member =
    (await registry.get("membership", workspace, id)) ??
    (await registry.get("member", instanceWorkspace, id))
  if (member === undefined) return { type: "member", id }
  const { name, email } = member.value
  return { type: "member", id, ...(name !== undefined && { name }), email }
}
