import assert from "node:assert/strict"
import test from "node:test"
import { ConfigError, readConfig, shownSettings, type Environment } from "./config.ts"

const read = (environment: Environment) => readConfig(environment, () => "")
const keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "a/secret+key" }

test("the archive is a folder of the data, another one, or a bucket", () => {
  assert.deepEqual(read({ TALLYSTICK_DATA: "/srv/ledger/" }).archive, {
    kind: "folder",
    path: "/srv/ledger/archive",
  })
  assert.deepEqual(read({ TALLYSTICK_ARCHIVE: "/mnt/old" }).archive, {
    kind: "folder",
    path: "/mnt/old",
  })
  const s3 = {
    kind: "s3",
    bucket: "records",
    prefix: "ledger/one",
    region: "us-east-1",
    endpoint: "https://s3.us-east-1.amazonaws.com",
    isPathStyle: false,
    accessKeyId: "id",
    secretAccessKey: "a/secret+key",
  }
  const TALLYSTICK_ARCHIVE = "s3://records/ledger/one/"
  assert.deepEqual(read({ TALLYSTICK_ARCHIVE, ...keys }).archive, s3)
  assert.deepEqual(
    read({
      TALLYSTICK_ARCHIVE,
      TALLYSTICK_ARCHIVE_LOCK_DAYS: "400",
      AWS_ENDPOINT_URL: "https://minio.example:9000/",
      AWS_REGION: "auto",
      AWS_SESSION_TOKEN: "token",
      ...keys,
    }).archive,
    {
      ...s3,
      region: "auto",
      endpoint: "https://minio.example:9000",
      isPathStyle: true,
      sessionToken: "token",
      lockDays: 400,
    },
  )
})

test("a wrong setting of the archive is named, and no key is shown", () => {
  for (const [environment, words] of [
    [{ TALLYSTICK_ARCHIVE: "gs://records" }, /^TALLYSTICK_ARCHIVE must be a folder, or s3:/],
    [{ TALLYSTICK_ARCHIVE: "s3://Records", ...keys }, /^TALLYSTICK_ARCHIVE must be s3:/],
    [{ TALLYSTICK_ARCHIVE: "s3://records/a/../b", ...keys }, /^TALLYSTICK_ARCHIVE must be s3:/],
    [{ TALLYSTICK_ARCHIVE: "s3://records" }, /^an archive in S3 needs AWS_ACCESS_KEY_ID$/],
    [
      { TALLYSTICK_ARCHIVE_LOCK_DAYS: "4" },
      /^TALLYSTICK_ARCHIVE_LOCK_DAYS is for an archive in S3/,
    ],
    [
      { TALLYSTICK_ARCHIVE: "s3://records", TALLYSTICK_ARCHIVE_LOCK_DAYS: "0", ...keys },
      /^TALLYSTICK_ARCHIVE_LOCK_DAYS must be off or a whole number from 1/,
    ],
    [
      { TALLYSTICK_ARCHIVE: "s3://records", AWS_ENDPOINT_URL: "minio:9000", ...keys },
      /^AWS_ENDPOINT_URL must be an http/,
    ],
  ] as const)
    assert.throws(
      () => read(environment),
      (error) => error instanceof ConfigError && words.test(error.message),
      String(words),
    )
  const shown = JSON.stringify(shownSettings(read({ TALLYSTICK_ARCHIVE: "s3://records", ...keys })))
  assert.ok(shown.includes("s3://records/") && !shown.includes(keys.AWS_SECRET_ACCESS_KEY))
})

test("a file of a secret that cannot be read is named by its setting, with the reason", () => {
  // The path is not shown: it may be the secret itself, set in the wrong variable.
  const environment = { TALLYSTICK_ROOT_KEY_FILE: "/run/secrets/root-key" }
  for (const code of ["EACCES", "ENOENT"])
    assert.throws(
      () =>
        readConfig(environment, (path) => {
          throw Object.assign(new Error(`${code}: open '${path}'`), { code })
        }),
      new ConfigError(`TALLYSTICK_ROOT_KEY_FILE names a file that cannot be read (${code})`),
    )
})

test("a limit that the service cannot keep is refused, with those that it can", () => {
  const refused = (limit: string, value: string): string => {
    try {
      read({ [`TALLYSTICK_LIMIT_${limit}`]: value })
      return "accepted"
    } catch (error) {
      assert.ok(error instanceof ConfigError, String(error))
      return error.message
    }
  }
  // No date is so far away.
  for (const limit of ["SETUP_LIFE_MS", "SESSION_LIFE_MS", "KEY_OVERLAP_MS"]) {
    assert.equal(
      refused(limit, String(Number.MAX_SAFE_INTEGER)),
      `TALLYSTICK_LIMIT_${limit} must be a whole number from 1 to 3153600000000`,
    )
    assert.equal(refused(limit, "3153600000000"), "accepted")
  }
  // Node has no timer of that length, and warns on each connection.
  for (const limit of ["HEADERS", "BODY", "KEEP_ALIVE", "STILL"])
    assert.equal(
      refused(`${limit}_TIMEOUT_MS`, "2147483647"),
      `TALLYSTICK_LIMIT_${limit}_TIMEOUT_MS must be a whole number from 1 to 2073600000`,
    )
  // A workspace begins with two entries, which commit together.
  assert.equal(
    refused("QUEUED_EVENTS_MAX", "1"),
    "TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX must be a whole number from 2 to 9007199254740991",
  )
  assert.equal(refused("DISK_RESERVE_BYTES", String(Number.MAX_SAFE_INTEGER)), "accepted")
})

test("headers have no more time than the whole request", () => {
  const { limits } = read({ TALLYSTICK_LIMIT_BODY_TIMEOUT_MS: "5000" })
  assert.deepEqual([limits.headersTimeoutMs, limits.bodyTimeoutMs], [5000, 5000])
})

test("a public address whose host cannot be in the name of a key is refused", () => {
  for (const host of ["a+b.example", "a%2Bb.example"])
    assert.throws(
      () => read({ TALLYSTICK_PUBLIC_URL: `https://${host}/ledger` }),
      new ConfigError(
        "TALLYSTICK_PUBLIC_URL must have a host without +: names of keys contain it, and a + ends them",
      ),
    )
  assert.equal(
    read({ TALLYSTICK_PUBLIC_URL: "https://a.example/b+c" }).publicUrl,
    "https://a.example/b+c",
  )
})
