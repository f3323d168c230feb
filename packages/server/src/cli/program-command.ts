import { Command } from "commander"

/** A command with what its help says below the options. */
export class ProgramCommand extends Command {
  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(name)
  }

  /** Paragraphs are as wide as the terminal, and examples as they are. */
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

  example(line: string): this {
    return this.notes(`Example:\n  $ ${line}`)
  }
}

/** Where there is no terminal, as for the options above. */
const usualWidth = 80
