// `tallystick config`: prints each setting and where its value comes from. It never prints a
// secret.

import { httpUrl, limitVariable, withoutInjected, type Config, type settings } from "../config.ts"
import { configOf, type Terminal } from "./terminal.ts"

type Name = keyof typeof settings

interface SettingRow {
  readonly name: string
  readonly value: string
  readonly from: "default" | "environment" | "file"
}

/** How each value is printed. For a secret, only where it is kept. */
const shown: Readonly<Record<Name, (config: Config) => string>> = {
  TALLYSTICK_HOST: ({ host }) => host,
  TALLYSTICK_PORT: ({ port }) => String(port),
  TALLYSTICK_DATA: ({ data }) => data,
  TALLYSTICK_HEADS: ({ heads }) => heads,
  TALLYSTICK_PUBLIC_URL: ({ publicUrl, host, port }) => publicUrl ?? httpUrl(host, port),
  TALLYSTICK_ROOT_KEY: ({ rootKey, data }) =>
    rootKey === undefined ? `kept in ${data}/root-key` : "(not shown)",
  TALLYSTICK_ROOT_KEY_PREVIOUS: ({ previousRootKey }) =>
    previousRootKey === undefined ? "none" : "(not shown)",
  TALLYSTICK_SECRET: ({ secret, data }) =>
    secret === undefined ? `kept in ${data}/secret` : "(not shown)",
  TALLYSTICK_SECRET_PREVIOUS: ({ previousSecret }) =>
    previousSecret === undefined ? "none" : "(not shown)",
  TALLYSTICK_TRUST_PROXY: ({ trustProxy }) => String(trustProxy),
  TALLYSTICK_KEY_REQUESTS_PER_MINUTE: ({ keyRequestsPerMinute }) =>
    String(keyRequestsPerMinute ?? "off"),
  TALLYSTICK_LOG_LEVEL: ({ logLevel }) => logLevel,
}

/** Throws, as a start does, for the first setting that is wrong. */
export function showConfig(terminal: Terminal, json: boolean): void {
  const all = explain(terminal)
  terminal.say(json ? `${JSON.stringify(all, null, 2)}\n` : tableOf(all))
}

function explain(terminal: Terminal): readonly SettingRow[] {
  const environment = withoutInjected(terminal.environment)
  const config = configOf(terminal)
  const sourceOf = (name: string): SettingRow["from"] =>
    environment[name] !== undefined
      ? "environment"
      : environment[`${name}_FILE`] !== undefined
        ? "file"
        : "default"
  return [
    ...Object.entries(shown).map(([name, valueOf]): SettingRow => ({
      name,
      value: valueOf(config),
      from: sourceOf(name),
    })),
    ...Object.entries(config.limits).map(([limit, value]): SettingRow => {
      const name = limitVariable(limit)
      return { name, value: String(value), from: sourceOf(name) }
    }),
  ]
}

function tableOf(all: readonly SettingRow[]): string {
  const width = Math.max(...all.map(({ name }) => name.length))
  return all
    .map(({ name, value, from }) => `${name.padEnd(width)}  ${from.padEnd(11)}  ${value}\n`)
    .join("")
}
