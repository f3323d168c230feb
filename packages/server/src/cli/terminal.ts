// The environment of every command: its settings and its outputs.

import { readFileSync } from "node:fs"
import { printableJson } from "@tallystick/proof"
import { readConfig, type Config, type Environment } from "../config.ts"

export interface Terminal {
  readonly environment: Environment
  /** Writes the result to standard output. */
  readonly say: (text: string) => void
  /** The same for bytes. Resolves when they were taken, so that a slow reader slows the writer. */
  readonly write: (bytes: Uint8Array) => Promise<void>
  /** Writes errors and hints to standard error. */
  readonly remark: (text: string) => void
  /**
   * Shows progress: each line replaces the one before, and what is said or remarked removes it. Does
   * nothing unless standard error is a terminal.
   */
  readonly progress: (line: string) => void
  /** Width of standard output; undefined if that is no terminal. */
  readonly columns: number | undefined
  readonly input: Input
  /** From now on, a reader that closes standard output does not end the command. */
  readonly outliveReader: () => void
}

/** Standard input. */
export interface Input {
  readonly isTerminal: boolean
  readonly read: () => AsyncIterable<Uint8Array>
}

/** Reads the settings. From then on, only this account can read files that the process makes. */
export function configOf({ environment }: Pick<Terminal, "environment">): Config {
  process.umask(0o077)
  return readConfig(environment, (path) => readFileSync(path, "utf8"))
}

export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}

/** The output of a command with `--json`. */
export function jsonText(value: unknown): string {
  return `${printableJson(value, 2)}\n`
}
