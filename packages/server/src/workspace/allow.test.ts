import assert from "node:assert/strict"
import test from "node:test"
import type { Scope } from "../store/documents.ts"
import { mayTouch, refusal, type Action, type Principal, type Refusal } from "./allow.ts"

const key = (scopes: readonly Scope[], projectIds?: readonly string[]): Principal => ({
  kind: "api-key",
  id: "0123456789abc",
  workspace: "acme",
  scopes,
  projectIds,
})

const principals = {
  none: undefined,
  instance: { kind: "instance" },
  write: key(["write"]),
  read: key(["read"]),
  admin: key(["admin"]),
  "write+read": key(["write", "read"]),
  "write+admin": key(["write", "admin"]),
} as const satisfies Record<string, Principal | undefined>

const anonymous = "unauthorized"
const scope = "insufficient_scope"
const foreign = "workspace_forbidden"
const yes = undefined

// Written by hand from the contract's table (section 3), for the kinds of credential that exist: no key, the instance key, API keys.
// Each cell: in the credential's own workspace, in another one.
const table: Readonly<
  Record<Action, Readonly<Record<keyof typeof principals, readonly [own: Refusal | undefined, other: Refusal | undefined]>>>
> = {
  write: {
    none: [anonymous, anonymous],
    instance: [yes, yes],
    write: [yes, foreign],
    read: [scope, foreign],
    admin: [scope, foreign],
    "write+read": [yes, foreign],
    "write+admin": [yes, foreign],
  },
  read: {
    none: [anonymous, anonymous],
    instance: [yes, yes],
    write: [scope, foreign],
    read: [yes, foreign],
    admin: [yes, foreign],
    "write+read": [yes, foreign],
    "write+admin": [yes, foreign],
  },
  administer: {
    none: [anonymous, anonymous],
    instance: [yes, yes],
    write: [scope, foreign],
    read: [scope, foreign],
    admin: [yes, foreign],
    "write+read": [scope, foreign],
    "write+admin": [yes, foreign],
  },
  preside: {
    none: [anonymous, anonymous],
    instance: [yes, yes],
    write: [scope, foreign],
    read: [scope, foreign],
    admin: [scope, foreign],
    "write+read": [scope, foreign],
    "write+admin": [scope, foreign],
  },
}

for (const [action, row] of Object.entries(table)) {
  for (const [name, [own, other]] of Object.entries(row)) {
    test(`${action} with ${name}: ${own ?? "yes"} at home, ${other ?? "yes"} elsewhere`, () => {
      // Object.entries forgets that the names are the table's.
      const principal = principals[name as keyof typeof principals]
      assert.equal(refusal(principal, action as Action, "acme"), own)
      assert.equal(refusal(principal, action as Action, "other"), other)
      assert.equal(refusal(principal, action as Action), own, "where no workspace is named, the scope alone decides")
    })
  }
}

test("a key without a scope may do nothing", () => {
  for (const action of Object.keys(table) as Action[]) assert.equal(refusal(key([]), action, "acme"), scope)
})

test("a key with a list of projects may touch those, and one without a list all", () => {
  assert.deepEqual(
    [mayTouch(key(["read"], ["core"]), "core"), mayTouch(key(["read"], ["core"]), "other"), mayTouch(key(["read"], []), "core")],
    [true, false, false],
  )
  assert.deepEqual([mayTouch(key(["read"]), "anything"), mayTouch({ kind: "instance" }, "anything")], [true, true])
})
