import { Command } from "commander"

/** A command with notes in its help below the options. */
export class ProgramCommand extends Command {
  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(name)
  }

  /** Paragraphs wrap at the width of the terminal. Examples do not wrap. */
  notes(text: string): this {
    return this.addHelpText("after", ({ command }) => {
      const width = command.configureOutput().getOutHelpWidth?.() ?? usualWidth
      const shown = text
        .trim()
        .split("\n\n")
        .map((block) =>
          block.startsWith("Example:")
            ? block
            : command.createHelp().boxWrap(block.replaceAll("\n", " "), width),
        )
      return `\n${shown.join("\n\n")}`
    })
  }

  /** The one that commander adds does not look into groups: `help events put`. */
  addHelp(): this {
    this.command("help")
      .argument("[command...]", "the names of a command, such as events put")
      .description("display help for command")
      .example("tallystick help events put")
      .action((names: readonly string[]) => names.reduce<Command>(commandIn, this).help())
    return this
  }

  example(line: string): this {
    return this.notes(`Example:\n  $ ${line}`)
  }
}

/** Headings of the help of the program, for commands that read or change the data themselves. */
export const whileRunning = "On the data, also while the service runs:"
export const whileStopped = "On the data, while the service is stopped:"

function commandIn(group: Command, name: string): Command {
  const command = group.commands.find((one) => one.name() === name)
  return command ?? group.error(`error: unknown command '${name}'`)
}

/** The width without a terminal, the same as for the options. */
const usualWidth = 80
