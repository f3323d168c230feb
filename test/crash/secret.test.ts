import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { browserOf, setUpFirst, signIn } from "../people.ts"
import { killedRotation, tallystick } from "../program.ts"
import { eventFor, make, makeKey, makeWorkspace, type Service } from "../service.ts"
import { failedStart, startProgram } from "./programs.ts"

// The secret is rotated, and the rotation killed at each step: no user notices, and the former
// secret opens nothing.

/** Credentials and evidence that people and programs hold, which must stay valid. */
interface Held {
  readonly expect: (service: Service) => Promise<void>
}

async function handOut(service: Service, email: string): Promise<Held> {
  const workspace = await makeWorkspace(service)
  const { id, path } = workspace
  const admin = await makeKey(service, id, { scopes: ["admin"] })
  await admin.patch(`${path}/projects/core`, { activityLinks: true })
  const activity = { projectId: "core", subject: "usr_1" }
  const tokens: string[] = []
  for (const by of [service.root, workspace.reader]) {
    tokens.push((await make(by, `${path}/activity/token`, activity)).token)
  }
  const [event, key] = [eventFor(id, { userVisible: true }), "an-order-of-long-ago"]
  const first = await workspace.writer.write(event, key)
  assert.equal(first.status, 202)
  const person = email === "first@example.com" ? await setUpFirst(service, email) : undefined
  const vkey = (await workspace.reader.get(`${path}/tlog/log.vkey`)).text
  return {
    async expect(now) {
      const [writer, reader] = [workspace.writer, workspace.reader].map(({ bearer }) =>
        now.client(bearer),
      )
      assert.ok(writer !== undefined && reader !== undefined)
      const again = await writer.write(event, key)
      assert.deepEqual(
        [again.status, again.text],
        [202, first.text],
        "a used key answers with the first receipt",
      )
      assert.equal(again.headers.get("idempotency-replayed"), "true")
      assert.equal((await writer.write(eventFor(id))).status, 202)
      for (const token of tokens)
        assert.equal(
          (await now.client(token).get(`${path}/activity`)).status,
          200,
          "a token opens what it did",
        )
      assert.equal((await now.client(admin.bearer).get(`${path}/api-keys`)).status, 200)
      if (person !== undefined) {
        assert.equal(
          (await browserOf(now.client(), person.cookie).get("/v1/session")).status,
          200,
          "whoever was signed in still is",
        )
        assert.equal((await signIn(now, email)).id, person.id)
      }
      assert.equal(
        (await reader.get(`${path}/tlog/log.vkey`)).text,
        vkey,
        "the log's key is another thing",
      )
      await expectChain(reader, id)
    },
  }
}

const hex = () => randomBytes(32).toString("hex")

async function expectWhole(data: string): Promise<void> {
  const { code, output, errors } = await tallystick(["fsck"], { TALLYSTICK_DATA: data })
  assert.equal(code, 0, output + errors)
}

/** Every value in documents that is sealed, or that a guessed secret could be tested with. */
function sealedIn(data: string): readonly string[] {
  using journal = new DatabaseSync(join(data, "journal.db"), { readOnly: true })
  const rows = journal.prepare("SELECT value FROM documents").all()
  return rows.flatMap(({ value }) => {
    const { wrapped, idempotency, sealed, password, login } = JSON.parse(String(value)) as Record<
      string,
      string | undefined
    >
    return [wrapped, idempotency, sealed, password, login].filter(
      (one): one is string => one !== undefined && one !== "",
    )
  })
}

test("one command rotates the secret, repeatedly and unnoticed; a former secret opens nothing", async () => {
  await using service = await startProgram()
  const held = [await handOut(service, "first@example.com")]
  const { data, rootKey } = service
  const path = join(data, "secret")
  assert.equal(await service.end(), 0)
  const secrets = [(await readFile(path, "utf8")).trim()]
  const given = hex()
  // The first and the second, which the command makes, are kept in the data folder; the third is
  // given.
  const environments = [{}, { TALLYSTICK_SECRET: given, TALLYSTICK_SECRET_PREVIOUS_FILE: path }]
  for (const [at, environment] of environments.entries()) {
    const generation = at + 2
    const before = sealedIn(data)
    const settings = { TALLYSTICK_DATA: data, TALLYSTICK_ROOT_KEY: rootKey, ...environment }
    const { code, output, errors } = await tallystick(["secret", "rotate"], settings)
    assert.equal(code, 0, errors)
    assert.match(
      output,
      new RegExp(`^The new secret is generation ${generation}: everything that was sealed`),
    )
    secrets.push(at === 0 ? (await readFile(path, "utf8")).trim() : given)
    assert.match(secrets.at(-1) ?? "", /^[0-9a-f]{64}$/)
    assert.equal(new Set(secrets).size, generation)
    const [journal, after] = [await readFile(join(data, "journal.db"), "latin1"), sealedIn(data)]
    assert.ok(before.length >= 4 && after.every((one) => journal.includes(one)))
    const left = before.filter((one) => journal.includes(one))
    assert.deepEqual(left, [], "what was sealed under the secret before is nowhere in the file")
    await expectWhole(data)

    await using again = await startProgram({
      data,
      environment: at === 0 ? {} : { TALLYSTICK_SECRET: given },
    })
    for (const one of held) await one.expect(again)
    held.push(await handOut(again, "nobody"))
    const { events } = (
      await again.root.get(
        "/v1/workspaces/instance/events?projectId=system&query=action:security.secret*",
      )
    ).json()
    assert.deepEqual(
      events
        .slice(0, 3)
        .map(({ action, metadata }: { action: string; metadata: { generation: number } }) => [
          action,
          metadata.generation,
        ]),
      ["retire", "reseal", "rotate"].map((act) => [`security.secret.${act}`, generation]),
    )
    assert.equal(await again.end(), 0)
  }
  for (const former of secrets.slice(0, 2)) {
    const refused = await failedStart({ TALLYSTICK_DATA: data, TALLYSTICK_SECRET: former })
    assert.equal(refused.code, 1)
    assert.match(
      refused.errors,
      /^tallystick: TALLYSTICK_SECRET is not the secret of this data, which was rotated[^\n]*\n$/,
    )
  }
})

test("a current secret given with a wrong previous one does not count as a rotation", async () => {
  await using service = await startProgram()
  const { data, rootKey } = service
  await makeWorkspace(service)
  assert.equal(await service.end(), 0)
  const [old, fresh] = [(await readFile(join(data, "secret"), "utf8")).trim(), hex()]
  const rotate = (now: string, previous: string) =>
    tallystick(["secret", "rotate"], {
      TALLYSTICK_DATA: data,
      TALLYSTICK_ROOT_KEY: rootKey,
      TALLYSTICK_SECRET: now,
      TALLYSTICK_SECRET_PREVIOUS: previous,
    })
  const exchanged = await rotate(old, fresh)
  assert.deepEqual([exchanged.code, exchanged.output], [1, ""], exchanged.errors)
  assert.match(
    exchanged.errors,
    /^tallystick: TALLYSTICK_SECRET is the secret of this data already, and TALLYSTICK_SECRET_PREVIOUS never was: /,
  )
  assert.match((await rotate(fresh, old)).output, /^The new secret is generation 2/)
  assert.match(
    (await rotate(fresh, old)).output,
    /^There is nothing to rotate/,
    "run twice, it says that it is over",
  )
  assert.equal((await rotate(fresh, hex())).code, 1)
})

test("a rotation and a start remove the files that a kill left beside a secret, and no others", async () => {
  await using service = await startProgram()
  const { data, rootKey } = service
  await makeWorkspace(service)
  assert.equal(await service.end(), 0)
  const left = ["secret.0123456789abcdef", "root-key.fedcba9876543210"]
  const own = ["secret.of-mine", "root-key.0123456789abcdef.kept"]
  const leave = async () => {
    for (const name of [...left, ...own]) await writeFile(join(data, name), hex())
  }
  const expectOwn = async () => {
    const names = await readdir(data)
    assert.deepEqual(
      [...left, ...own].filter((name) => names.includes(name)),
      own,
    )
  }
  await leave()
  const { code, errors } = await tallystick(["secret", "rotate"], {
    TALLYSTICK_DATA: data,
    TALLYSTICK_ROOT_KEY: rootKey,
  })
  assert.equal(code, 0, errors)
  await expectOwn()
  await leave()
  await using again = await startProgram({ data })
  await expectOwn()
  assert.equal(await again.end(), 0)
})

test("killed after any step, a rotation continues; until then the service starts only with both secrets", async (t) => {
  await using service = await startProgram()
  const held = [await handOut(service, "first@example.com")]
  const { data, rootKey } = service
  const kept = async () => (await readFile(join(data, "secret"), "utf8")).trim().split("\n")
  const [old = ""] = await kept()
  assert.equal(await service.end(), 0)

  const steps: string[] = []
  for (let killedAt = 1, ended = false; !ended; killedAt++) {
    const { code, output, errors } = await tallystick(
      [String(killedAt)],
      { TALLYSTICK_DATA: data, TALLYSTICK_ROOT_KEY: rootKey },
      { by: killedRotation },
    )
    ended = code === 0
    const [, step = ""] = /^killed: (.+)$/m.exec(output) ?? []
    assert.ok(ended || step !== "", output + errors)
    if (step !== "") steps.push(step)
    assert.equal((await kept()).length, ended ? 1 : 2)
    await using again = await startProgram({ data })
    for (const one of held) await one.expect(again)
    // The setting was never used here, so nobody could remove it.
    assert.doesNotMatch(again.log(), /TALLYSTICK_SECRET_PREVIOUS/)
    assert.equal(
      /the data folder still holds the old one: [^"]* run `tallystick secret rotate` once more/.test(
        again.log(),
      ),
      /opens nothing/.test(step),
    )
    // Keys that are made meanwhile survive the rotation, too.
    if (/begun|workspaces/.test(step) && held.length < 3) held.push(await handOut(again, "nobody"))
    assert.equal(await again.end(), 0)
    await expectWhole(data)
    for (const one of /begun|overwritten/.test(step) ? await kept() : []) {
      const refused = await failedStart({ TALLYSTICK_DATA: data, TALLYSTICK_SECRET: one })
      assert.equal(refused.code, 1)
      assert.match(
        refused.errors,
        /^tallystick: the secret of this data is being rotated: set TALLYSTICK_SECRET[^\n]*\n$/,
      )
    }
  }
  t.diagnostic(steps.join(", "))
  for (const expected of [
    /are kept/,
    /has begun/,
    /of \d workspaces/,
    /of 1 passwords/,
    /overwritten/,
    /opens nothing/,
  ]) {
    const isReached = steps.some((step) => expected.test(step))
    assert.ok(isReached, `it was not killed at ${expected}: ${steps.join(", ")}`)
  }
  assert.ok(!(await kept()).includes(old))
  const refused = await failedStart({ TALLYSTICK_DATA: data, TALLYSTICK_SECRET: old })
  assert.match(
    refused.errors,
    /^tallystick: TALLYSTICK_SECRET is not the secret of this data, which was rotated/,
  )
})
