import assert from "node:assert/strict"
import test from "node:test"
import type { Content } from "../store/opened-entry.ts"
import { systemProject } from "../store/search/searchable-fields.ts"
import type { Wanted } from "../store/search/search.ts"
import { sightOf } from "./build-page.ts"

const ann = { id: "usr_1", type: "user" }
const bob = { id: "usr_2", type: "user" }
const robot = { id: ann.id, type: "robot" }
const subject = { id: ann.id, types: ["user", "person"] }

test("a reader sees no more of an entry than their question allows, whatever the search found", () => {
  const shop = (actor = ann, target = bob) => ({ projectId: "shop", actor, target })
  const system = { ...shop(), projectId: systemProject }
  for (const [content, wanted, sight] of [
    [undefined, { system: "with" }, "none"],
    [shop(), { system: "without" }, "all"],
    [shop(), { system: "without", projectIds: ["core", "shop"] }, "all"],
    [shop(), { system: "with", projectIds: ["core"] }, "none"],
    [system, { system: "without" }, "none"],
    [system, { system: "with", projectIds: ["core"] }, "all"],
    [shop(ann, bob), { system: "without", subject }, "actor"],
    [shop(bob, ann), { system: "without", subject }, "target"],
    [shop(ann, ann), { system: "without", subject }, "all"],
    [shop(bob, bob), { system: "without", subject }, "none"],
    [shop(robot, robot), { system: "without", subject }, "none"],
    [shop(ann, ann), { system: "without", projectIds: ["core"], subject }, "none"],
  ] as const satisfies readonly (readonly [object | undefined, Wanted, string])[])
    // It reads no other members.
    assert.equal(sightOf(content as Content | undefined, wanted), sight, JSON.stringify(wanted))
})
