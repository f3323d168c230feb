import assert from "node:assert/strict"
import { test } from "node:test"
import { goodPassword, setUpFirst } from "../people.ts"
import { eventually, startService } from "../service.ts"

// Strangers who try passwords from thousands of addresses do not lock out people who have signed in
// before.

test("during a flood of sign-ins, a member from a known network can sign in", async () => {
  await using service = await startService({ environment: { TALLYSTICK_TRUST_PROXY: "127.0.0.1" } })
  await setUpFirst(service)
  const signIn = (address: string, email: string, password: string) =>
    service.client().post("/v1/session", { email, password }, { "x-forwarded-for": address })
  const own = (): Promise<{ status: number }> =>
    signIn("192.0.2.1", "first@example.com", goodPassword)
  assert.equal((await own()).status, 200)
  const answers = new Map<number, number>()
  let flooding = true
  let count = 0
  const flood = async (): Promise<void> => {
    while (flooding) {
      const at = ++count
      const { status } = await signIn(
        `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
        at % 2 === 0 ? "first@example.com" : `guess-${at}@example.com`,
        "guess",
      )
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  }
  const strangers = Array.from({ length: 64 }, flood)
  try {
    await eventually("strangers are refused", async () => (answers.get(503) ?? 0) > 20)
    for (let time = 0; time < 5; time++)
      assert.equal((await own()).status, 200, JSON.stringify([...answers]))
  } finally {
    flooding = false
    await Promise.all(strangers)
  }
  assert.ok((answers.get(401) ?? 0) > 0, "and some strangers are let try")
})
