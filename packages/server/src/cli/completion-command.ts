// `tallystick completion`: prints a script with which a shell completes commands and options. The
// script is made from the description of the program itself, so it offers exactly what the program
// accepts.

import type { Command } from "commander"

export type Shell = "bash" | "zsh" | "fish"

/** The possible next words after some words, such as "keys create". */
interface Place {
  readonly words: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly Offered[]
}

interface Offered {
  readonly flag: string
  readonly description: string
  /** The possible values, none if any text is; undefined if the option takes no value. */
  readonly values: readonly string[] | undefined
}

export function completionFor(shell: Shell, program: Command): string {
  const places = placesOf(program, [])
  switch (shell) {
    case "bash":
      return bash(program.name(), places)
    case "zsh":
      // zsh can run scripts for bash.
      return `#compdef ${program.name()}\nautoload -U +X compinit && compinit -C\nautoload -U +X bashcompinit && bashcompinit\n${bash(program.name(), places)}`
    case "fish":
      return fish(program.name(), places)
  }
}

function placesOf(command: Command, words: readonly string[]): readonly Place[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  return [
    {
      words: words.join(" "),
      commands: [
        ...commands.map((one) => ({ name: one.name(), description: firstLine(one.description()) })),
        ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
          argChoices.map((name) => ({ name, description })),
        ),
      ],
      options: help
        .visibleOptions(command)
        .flatMap(({ long, description, required, argChoices = [] }) =>
          typeof long === "string"
            ? [{ flag: long, description, values: required ? argChoices : undefined }]
            : [],
        ),
    },
    ...commands
      .filter((one) => one.name() !== "help")
      .flatMap((one) => placesOf(one, [...words, one.name()])),
  ]
}

/** Offers commands, options after a hyphen, values of an option, and files where nothing else fits. */
function bash(name: string, places: readonly Place[]): string {
  const cases = places.flatMap(({ words, commands, options }) => [
    ...options.flatMap(({ flag, values }) =>
      values === undefined
        ? []
        : [`    ${quoted(`${words}:${flag}:`)}*) offered=${list(values)} ;;\n`],
    ),
    `    ${quoted(`${words}:`)}*:-*) offered=${list(options.map(({ flag }) => flag))} ;;\n`,
    `    ${quoted(`${words}:`)}*) offered=${list(commands.map((one) => one.name))} ;;\n`,
  ])
  const known = places.map(({ words }) => quoted(words)).join("|")
  return `_${name}() {
  local word=\${COMP_WORDS[COMP_CWORD]} place= next offered= at
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${place:+$place }\${COMP_WORDS[at]}"
    case "$next" in ${known}) place=$next ;; esac
  done
  case "$place:\${COMP_WORDS[COMP_CWORD - 1]}:$word" in
${cases.join("")}  esac
  COMPREPLY=($(compgen -W "$offered" -- "$word"))
}
complete -o default -F _${name} ${name}
`
}

function fish(name: string, places: readonly Place[]): string {
  const lines = places.flatMap(({ words, commands, options }) => {
    const when = `__${name}_at ${quoted(words)}`
    return [
      ...commands.map(
        (one) =>
          `complete -c ${name} -n ${quoted(when)} -f -a ${quoted(one.name)} -d ${quoted(one.description)}\n`,
      ),
      ...options.map(({ flag, description, values }) => {
        const value =
          values === undefined ? "" : values.length === 0 ? " -r" : ` -x -a ${list(values)}`
        return `complete -c ${name} -n ${quoted(when)} -l ${quoted(flag.slice(2))}${value} -d ${quoted(description)}\n`
      }),
    ]
  })
  const known = places
    .filter(({ words }) => words !== "")
    .map(({ words }) => quoted(words))
    .join(" ")
  return `function __${name}_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$place $word")
    contains -- $next ${known}; and set place $next
  end
  test "$place" = "$argv"
end
${lines.join("")}`
}

function list(words: readonly string[]): string {
  return quoted(words.join(" "))
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? ""
}

/**
 * Both shells take single-quoted text literally. fish also reads backslashes in it, and our texts
 * have none.
 */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
