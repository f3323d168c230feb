import assert from "node:assert/strict"
import test from "node:test"
import type { Scope, TokenBound } from "../store/documents.ts"
import {
  isForeign,
  mayTouch,
  refusal,
  type Action,
  type Principal,
  type Refusal,
  type TokenType,
} from "./permissions.ts"

const key = (scopes: readonly Scope[], projectIds?: readonly string[]): Principal => ({
  kind: "api-key",
  id: "0123456789abc",
  workspace: "acme",
  scopes,
  projectIds,
})

const token = (bound: TokenBound): Principal => ({
  kind: "token",
  id: "0123456789abc",
  workspace: "acme",
  bound,
})

const principals = {
  none: undefined,
  instance: { kind: "instance" },
  write: key(["write"]),
  read: key(["read"]),
  admin: key(["admin"]),
  "write+read": key(["write", "read"]),
  "write+admin": key(["write", "admin"]),
  "receipt t.": token({ type: "receipt", receipt: "rcp_1" }),
  "policy t.": token({ type: "policy", projectId: "core" }),
  "activity t.": token({
    type: "activity",
    projectId: "core",
    subject: { id: "usr_1", types: ["user"] },
  }),
  "evidence t.": token({ type: "evidence", packId: "pack_1" }),
} as const satisfies Record<string, Principal | undefined>

const anonymous = "unauthorized"
const scope = "insufficient_scope"
const foreign = "workspace_forbidden"
const yes = undefined

// Written by hand from the table of docs/api.md, "Credentials": who may do it in their own
// workspace. The instance key may in any workspace, the others in no other one.
const may: Readonly<Record<Exclude<Action, "open">, readonly (keyof typeof principals)[]>> = {
  write: ["instance", "write", "write+read", "write+admin"],
  read: ["instance", "read", "admin", "write+read", "write+admin"],
  administer: ["instance", "admin", "write+admin"],
  preside: ["instance"],
  redeem: [],
  account: [],
}

test("open endpoints accept every credential", () => {
  for (const principal of Object.values(principals))
    assert.equal(refusal(principal, "open", "acme"), yes)
})

for (const [action, names] of Object.entries(may)) {
  for (const [name, principal] of Object.entries(principals)) {
    const isNamed = (names as readonly string[]).includes(name)
    const own = isNamed ? yes : name === "none" ? anonymous : scope
    const other = name === "none" || name === "instance" ? own : foreign
    test(`${action} with ${name}: ${own ?? "yes"} at home, ${other ?? "yes"} elsewhere`, () => {
      // Object.entries forgets that the actions are the table's.
      assert.equal(refusal(principal, action as Action, "acme"), own)
      assert.equal(refusal(principal, action as Action, "other"), other)
      assert.equal(
        refusal(principal, action as Action),
        own,
        "where no workspace is named, the scope alone decides",
      )
    })
  }
}

test("a token may do only what its type allows, in its own workspace", () => {
  const types: readonly TokenType[] = ["receipt", "policy", "activity", "evidence"]
  for (const type of types) {
    for (const action of ["read", "redeem"] as const) {
      for (const other of types)
        assert.equal(
          refusal(principals[`${type} t.`], action, "acme", [other]),
          type === other ? yes : scope,
        )
      assert.equal(refusal(principals[`${type} t.`], action, "other", types), foreign)
    }
  }
  assert.equal(
    refusal(principals.write, "read", "acme", types),
    scope,
    "letting tokens in lets no key in",
  )
  assert.equal(refusal(undefined, "redeem", "acme", types), anonymous)
  assert.equal(
    mayTouch(principals["policy t."], "core"),
    false,
    "a token reaches what it is bound to, not a project",
  )
})

test("every credential but the instance key belongs to one workspace", () => {
  for (const [name, principal] of Object.entries(principals)) {
    if (principal === undefined) continue
    assert.deepEqual(
      [isForeign(principal, "acme"), isForeign(principal, "other")],
      [false, name !== "instance"],
      name,
    )
  }
})

// A member is looked up for the workspace in the request, so each cell has its own principal: in a
// workspace where it is a viewer, where it is an admin, where it has no role; and an instance admin
// in any workspace.
const memberTable: Readonly<
  Record<
    Exclude<Action, "open">,
    Readonly<Record<"viewer" | "admin" | "nothing" | "presides", Refusal | undefined>>
  >
> = {
  write: { viewer: anonymous, admin: anonymous, nothing: anonymous, presides: anonymous },
  read: { viewer: yes, admin: yes, nothing: foreign, presides: yes },
  administer: { viewer: scope, admin: yes, nothing: foreign, presides: yes },
  preside: { viewer: scope, admin: scope, nothing: foreign, presides: yes },
  redeem: { viewer: scope, admin: scope, nothing: scope, presides: scope },
  account: { viewer: yes, admin: yes, nothing: yes, presides: yes },
}

const person = {
  kind: "member",
  id: "0123456789abc",
  email: "ada@example.com",
  sessionId: "abc0123456789",
  workspace: "acme",
} as const
const members = {
  viewer: { ...person, role: "viewer", presides: false },
  admin: { ...person, role: "admin", presides: false },
  nothing: { ...person, role: undefined, presides: false },
  presides: { ...person, role: undefined, presides: true },
} as const satisfies Record<string, Principal>

for (const [action, row] of Object.entries(memberTable)) {
  test(`${action} in a session: ${JSON.stringify(row)}`, () => {
    for (const [name, expected] of Object.entries(row)) {
      // Object.entries forgets that the names are the table's.
      assert.equal(
        refusal(members[name as keyof typeof members], action as Action, "acme"),
        expected,
        name,
      )
    }
  })
}

test("a role is valid only in its workspace", () => {
  assert.equal(refusal(members.admin, "read", "other"), foreign)
  for (const action of ["read", "administer", "preside"] as const)
    assert.equal(refusal(members.nothing, action), scope)
  assert.equal(refusal(members.presides, "administer", "other"), yes)
  assert.deepEqual(
    [
      isForeign(members.viewer, "acme"),
      isForeign(members.nothing, "acme"),
      isForeign(members.presides, "other"),
    ],
    [false, true, false],
  )
  assert.equal(mayTouch(members.viewer, "anything"), true)
})

test("no key can administer the instance workspace, because its admins have all rights", () => {
  const admin: Principal = {
    kind: "api-key",
    id: "0123456789abc",
    workspace: "instance",
    scopes: ["admin"],
    projectIds: undefined,
  }
  assert.equal(refusal(admin, "administer", "instance"), scope)
  assert.equal(refusal(admin, "read", "instance"), yes)
  assert.equal(refusal({ kind: "instance" }, "administer", "instance"), yes)
  assert.equal(refusal(members.presides, "administer", "instance"), yes)
})

test("a key without a scope may do nothing", () => {
  for (const action of Object.keys(may) as Action[])
    assert.equal(refusal(key([]), action, "acme"), scope)
})

test("a key with a list of projects may write and read only those, and one without a list all", () => {
  assert.deepEqual(
    [
      mayTouch(key(["read"], ["core"]), "core"),
      mayTouch(key(["read"], ["core"]), "other"),
      mayTouch(key(["read"], []), "core"),
    ],
    [true, false, false],
  )
  assert.deepEqual(
    [mayTouch(key(["read"]), "anything"), mayTouch({ kind: "instance" }, "anything")],
    [true, true],
  )
})
