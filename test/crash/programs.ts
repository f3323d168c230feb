import assert from "node:assert/strict"
import { freePort } from "../free-port.ts"
import { engineSettings } from "../engine.ts"
import { faultyProgram, tallystick, type Ended } from "../program.ts"
import { settingsOf, startService, type Service, type ServiceOptions } from "../service.ts"
import type { Fault } from "./faults.ts"

// Services that are started often: from code compiled once, and each data folder on a port of its
// own, so that a receipt, which holds a URL, is the same bytes after a restart.

const ports = new Map<string, number>()

/** The product, or the product with a fault in it. */
export async function startProgram(
  { environment, ...options }: ServiceOptions = {},
  fault?: Fault,
): Promise<Service> {
  const port = ports.get(options.data ?? "") ?? (await freePort())
  const planted = fault === undefined ? {} : { program: faultyProgram, arguments: [fault] }
  const settings = { TALLYSTICK_PORT: String(port), ...environment }
  const service = await startService({ ...options, ...planted, environment: settings })
  ports.set(service.data, port)
  return service
}

/**
 * Starts the product where the start must fail, and waits for its end. It is killed if it takes too
 * long.
 */
export function failedStart(
  environment: Readonly<Record<string, string>>,
  killAfterMs = 20_000,
): Promise<Ended> {
  return tallystick(["serve"], { TALLYSTICK_PORT: "0", ...environment }, { killAfterMs })
}

/** fsck finds nothing wrong with the data that a service left. */
export async function expectFsckClean(service: Service): Promise<void> {
  const settings = { ...settingsOf(service), ...(await engineSettings(service.data)) }
  const { code, output, errors } = await tallystick(["fsck"], settings)
  assert.equal(code, 0, output + errors)
}
