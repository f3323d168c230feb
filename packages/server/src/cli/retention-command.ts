// `tallystick retention run`: makes the running service destroy expired contents now, with the
// instance key.

import { asked, type AskingTerminal } from "./service-calls.ts"
import { counted } from "./terminal.ts"

export async function runRetention(terminal: AskingTerminal, workspaceId: string): Promise<void> {
  for (;;) {
    const run = await asked(terminal, ({ retention }) => retention.run(workspaceId))
    if (run.isRunning) continue
    const held = run.held === 0 ? "" : `; holds keep ${run.held} more`
    terminal.remark(
      `tallystick: ${counted(run.entries, "content")} of ${workspaceId} expired${held}.\n`,
    )
    return
  }
}
