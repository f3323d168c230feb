import assert from "node:assert/strict"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { eventFor, make, makeWorkspace, type Service } from "../service.ts"
import { startProgram } from "./programs.ts"

// Rotation of the instance key: as a precaution, tokens of the former key stay valid; after a leak,
// all of them end.

const [old, fresh] = [
  "an-instance-key-of-long-ago-and-more",
  "another-instance-key-in-its-place-now",
]

/** An event's id, and a token that the instance key has made. */
async function mint(service: Service) {
  const workspace = await makeWorkspace(service)
  const { path } = workspace
  await service.root.patch(`${path}/projects/core`, { activityLinks: true })
  assert.equal((await workspace.writer.write(eventFor(workspace.id))).status, 202)
  const asked = { projectId: "core", subject: "usr_1" }
  const { token } = await make<{ token: string }>(service.root, `${path}/activity/token`, asked)
  const answer = async (now: Service) => {
    const reply = await now.client(token).get(`${path}/activity`)
    return reply.status === 200 ? 200 : reply.json<{ error: string }>().error
  }
  return { ...workspace, answer }
}

const rotations = async (service: Service) => {
  const query =
    "/v1/workspaces/instance/events?projectId=system&query=action:security.instance_key.rotate"
  const { events } = (await service.root.get(query)).json<{
    events: { metadata: { tokens: string } }[]
  }>()
  return events.map(({ metadata }) => metadata.tokens)
}

test("a kept instance key is rotated; its tokens stay valid, or end with --revoke-tokens", async () => {
  const environment = { TALLYSTICK_ROOT_KEY: undefined }
  await using service = await startProgram({ environment })
  const { data } = service
  const made = await mint(service)
  assert.equal(await service.end(), 0)
  const path = join(data, "root-key")
  const keys = [(await readFile(path, "utf8")).trim()]
  const rotate = async (...args: readonly string[]): Promise<void> => {
    const { code, output, errors } = await tallystick(["root-key", "rotate", ...args], {
      TALLYSTICK_DATA: data,
    })
    assert.equal(code, 0, errors)
    keys.push((await readFile(path, "utf8")).trim())
    assert.ok(!keys.some((key) => output.includes(key)), "the key is shown")
  }
  const expect = async (
    good: string,
    bad: readonly string[],
    answer: 200 | "token_revoked",
    recorded: readonly string[],
  ): Promise<void> => {
    await using now = await startProgram({ data, environment })
    assert.equal((await now.client(good).get("/v1/workspaces")).status, 200)
    for (const one of bad) assert.equal((await now.client(one).get("/v1/workspaces")).status, 401)
    assert.equal(await made.answer(now), answer)
    assert.deepEqual(await rotations(now), recorded)
    await expectChain(now.client(made.reader.bearer), made.id)
    assert.equal(await now.end(), 0)
  }

  await rotate()
  await expect(keys[1] ?? "", [keys[0] ?? ""], 200, ["kept"])
  // As after a kill between the entry and the file: the former key is valid, and its tokens too.
  await writeFile(path, `${keys[0]}\n`)
  await expect(keys[0] ?? "", [keys[1] ?? ""], 200, ["kept"])
  await rotate("--revoke-tokens")
  await expect(keys[2] ?? "", keys.slice(0, 2), "token_revoked", ["revoked", "kept"])
  const { code, output, errors } = await tallystick(["fsck"], { TALLYSTICK_DATA: data })
  assert.equal(code, 0, output + errors)
  for (const name of await readdir(data)) {
    const text = await readFile(join(data, name), "latin1")
    assert.ok(
      name === "root-key" || !keys.some((key) => text.includes(key)),
      `an instance key is in ${name}`,
    )
  }

  // A changed file does not make ended tokens valid.
  using journal = new DatabaseSync(join(data, "journal.db"))
  journal.exec(
    "UPDATE documents SET value = json_set(value, '$.sealed', 'another') WHERE kind = 'keyring'",
  )
  const changed = await tallystick(["fsck"], { TALLYSTICK_DATA: data })
  assert.match(changed.errors, /keyring differs from what this entry recorded: commitment/)
  assert.match(changed.output, /Found 1 fault\. Keep this data unchanged, and restore a backup/)
})

test("a given instance key: both work while both are set; its tokens end with it, or survive a rotation", async () => {
  await using service = await startProgram({ environment: { TALLYSTICK_ROOT_KEY: old } })
  const { data } = service
  const made = await mint(service)
  assert.equal(await service.end(), 0)
  const both = { TALLYSTICK_ROOT_KEY: fresh, TALLYSTICK_ROOT_KEY_PREVIOUS: old }
  const expect = async (
    environment: Readonly<Record<string, string>>,
    good: readonly string[],
    answer: 200 | "token_revoked",
  ): Promise<void> => {
    await using now = await startProgram({ data, environment })
    for (const key of [old, fresh])
      assert.equal(
        (await now.client(key).get("/v1/workspaces")).status,
        good.includes(key) ? 200 : 401,
        key,
      )
    assert.equal(await made.answer(now), answer)
    assert.equal(await now.end(), 0)
  }
  await expect(both, [old, fresh], 200)
  await expect({ TALLYSTICK_ROOT_KEY: fresh }, [fresh], "token_revoked")
  const refused = await tallystick(["root-key", "rotate"], {
    TALLYSTICK_DATA: data,
    TALLYSTICK_ROOT_KEY: fresh,
  })
  assert.deepEqual([refused.code, refused.output], [1, ""])
  assert.match(
    refused.errors,
    /^tallystick: TALLYSTICK_ROOT_KEY_PREVIOUS must be the old instance key/,
  )
  assert.equal(
    (await tallystick(["root-key", "rotate"], { TALLYSTICK_DATA: data, ...both })).code,
    0,
  )
  await expect({ TALLYSTICK_ROOT_KEY: fresh }, [fresh], 200)
})

test("the secret is rotated while two instance keys work: the tokens of each end with it, stay, or are revoked", async () => {
  await using service = await startProgram({ environment: { TALLYSTICK_ROOT_KEY: old } })
  const { data } = service
  const ofOld = await mint(service)
  assert.equal(await service.end(), 0)
  const both = { TALLYSTICK_ROOT_KEY: fresh, TALLYSTICK_ROOT_KEY_PREVIOUS: old }
  const alone = { TALLYSTICK_ROOT_KEY: fresh }
  const rotate = async (
    command: readonly string[],
    keys: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const { code, errors } = await tallystick(command, { TALLYSTICK_DATA: data, ...keys })
    assert.equal(code, 0, errors)
  }
  const secret = ["secret", "rotate"]
  // The new key has made nothing yet.
  await rotate(secret, both)
  await using overlap = await startProgram({ data, environment: both })
  assert.equal(await ofOld.answer(overlap), 200)
  const ofFresh = await mint(overlap)
  assert.equal(await overlap.end(), 0)
  const mistyped = await tallystick(secret, {
    TALLYSTICK_DATA: data,
    ...both,
    TALLYSTICK_ROOT_KEY_PREVIOUS: `${old}-mistyped`,
  })
  assert.deepEqual([mistyped.code, mistyped.output], [1, ""], mistyped.errors)
  assert.match(
    mistyped.errors,
    /^tallystick: TALLYSTICK_ROOT_KEY_PREVIOUS is not the instance key that has made the live tokens/,
  )
  await rotate(secret, both)

  const expect = async (
    keys: Readonly<Record<string, string>>,
    answers: readonly (200 | "token_revoked")[],
  ): Promise<void> => {
    await using now = await startProgram({ data, environment: keys })
    assert.deepEqual(await Promise.all([ofOld, ofFresh].map(({ answer }) => answer(now))), answers)
    for (const { id, reader } of [ofOld, ofFresh]) await expectChain(now.client(reader.bearer), id)
    assert.equal(await now.end(), 0)
  }
  await expect(alone, ["token_revoked", 200])
  const revoke = ["root-key", "rotate", "--revoke-tokens"]
  const refused = await tallystick(revoke, { TALLYSTICK_DATA: data, ...alone })
  assert.match(
    refused.errors,
    /^tallystick: a configured instance key has live tokens/,
    "under whichever secret it made them",
  )
  await rotate(["root-key", "rotate"], both)
  await expect(alone, [200, 200])
  await rotate(revoke, { TALLYSTICK_ROOT_KEY: "a-third-instance-key-that-makes-nothing" })
  // They ended for good: the keys of that time do not make them valid again.
  await expect(both, ["token_revoked", "token_revoked"])
})

test("--revoke-tokens refuses a given key that has live tokens", async () => {
  await using service = await startProgram({ environment: { TALLYSTICK_ROOT_KEY: old } })
  const { data } = service
  const made = await mint(service)
  assert.equal(await service.end(), 0)
  const revoke = (keys: Readonly<Record<string, string>>) =>
    tallystick(["root-key", "rotate", "--revoke-tokens"], { TALLYSTICK_DATA: data, ...keys })
  for (const keys of [
    { TALLYSTICK_ROOT_KEY: old },
    { TALLYSTICK_ROOT_KEY: fresh, TALLYSTICK_ROOT_KEY_PREVIOUS: old },
  ]) {
    const { code, output, errors } = await revoke(keys)
    assert.deepEqual([code, output], [1, ""], errors)
    assert.match(
      errors,
      /^tallystick: a configured instance key has live tokens[^\n]* set TALLYSTICK_ROOT_KEY to a new key/,
    )
  }
  const { code, errors } = await revoke({ TALLYSTICK_ROOT_KEY: fresh })
  assert.equal(code, 0, errors)
  await using after = await startProgram({ data, environment: { TALLYSTICK_ROOT_KEY: fresh } })
  assert.deepEqual(await rotations(after), ["revoked"], "what is refused is not recorded")
  assert.equal(await made.answer(after), "token_revoked")
  await expectChain(after.client(made.reader.bearer), made.id)
  assert.equal(await after.end(), 0)
})

test("both rotations refuse a wrong former key, and change nothing", async () => {
  await using service = await startProgram({ environment: { TALLYSTICK_ROOT_KEY: old } })
  const { data } = service
  const made = await mint(service)
  assert.equal(await service.end(), 0)
  const secret = await readFile(join(data, "secret"), "utf8")
  const refusals = [
    {
      command: "root-key",
      keys: { TALLYSTICK_ROOT_KEY: fresh, TALLYSTICK_ROOT_KEY_PREVIOUS: `${old}-mistyped` },
    },
    { command: "secret", keys: { TALLYSTICK_ROOT_KEY: `${old}-mistyped` } },
  ]
  for (const { command, keys } of refusals) {
    const { code, output, errors } = await tallystick([command, "rotate"], {
      TALLYSTICK_DATA: data,
      ...keys,
    })
    assert.deepEqual([code, output], [1, ""], errors)
    assert.match(
      errors,
      new RegExp(
        `^tallystick: ${Object.keys(keys).at(-1)} is not the instance key that has made the live tokens`,
      ),
    )
    assert.equal(await readFile(join(data, "secret"), "utf8"), secret)
  }
  const next = "a-third-instance-key-that-makes-nothing"
  const rotations = [
    ["secret", { TALLYSTICK_ROOT_KEY: old }],
    // The tokens belong to a former secret or key by now, so any key that made none of them will
    // do.
    ["root-key", { TALLYSTICK_ROOT_KEY: fresh, TALLYSTICK_ROOT_KEY_PREVIOUS: old }],
    ["root-key", { TALLYSTICK_ROOT_KEY: next, TALLYSTICK_ROOT_KEY_PREVIOUS: fresh }],
    ["secret", { TALLYSTICK_ROOT_KEY: next }],
  ] as const
  for (const [command, keys] of rotations) {
    const { code, errors } = await tallystick([command, "rotate"], {
      TALLYSTICK_DATA: data,
      ...keys,
    })
    assert.equal(code, 0, errors)
  }
  await using after = await startProgram({ data, environment: { TALLYSTICK_ROOT_KEY: next } })
  assert.equal(await made.answer(after), 200)
  await expectChain(after.client(made.reader.bearer), made.id)
  assert.equal(await after.end(), 0)
})
