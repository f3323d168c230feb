/**
 * Why a promise cannot be tested here. With TALLYSTICK_STRICT=1 that is an error: nobody sees a
 * skipped test, and the promise may have broken.
 */
export function skipUnlessStrict(reason: string | undefined): string | undefined {
  if (reason !== undefined && process.env["TALLYSTICK_STRICT"] === "1")
    throw new Error(`TALLYSTICK_STRICT=1, and ${reason}`)
  return reason
}
