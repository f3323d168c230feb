// `tallystick config`: prints each setting and where its value comes from. It never prints a
// secret.

import { shownSettings, withoutInjected, type ShownSetting } from "../config.ts"
import { configOf, jsonText, type Terminal } from "./terminal.ts"

interface SettingRow extends ShownSetting {
  readonly from: "default" | "environment" | "file"
}

/** Throws, as a start does, for the first setting that is wrong. */
export function showConfig(terminal: Terminal, json: boolean): void {
  const all = explain(terminal)
  terminal.say(json ? jsonText(all) : tableOf(all))
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
  return shownSettings(config).map(({ name, value }) => ({ name, value, from: sourceOf(name) }))
}

function tableOf(all: readonly SettingRow[]): string {
  const width = Math.max(...all.map(({ name }) => name.length))
  return all
    .map(({ name, value, from }) => `${name.padEnd(width)}  ${from.padEnd(11)}  ${value}\n`)
    .join("")
}
