import type { AddHelpTextContext } from "commander"

/**
 * What the help of a command says below its options: paragraphs as wide as the terminal, and
 * examples as they are.
 */
export function notes(text: string): (context: AddHelpTextContext) => string {
  return ({ command }) => {
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
  }
}

/** Where there is no terminal, as for the options above. */
const usualWidth = 80
