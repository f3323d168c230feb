// `tallystick resume`: lets a restored copy take new entries. The service must be stopped.

import { resume, type ResumedWorkspace } from "../operator/resume.ts"
import { knownSecrets } from "../operator/secret-files.ts"
import { configOf, jsonText, type Terminal } from "./terminal.ts"

/**
 * With `check`, changes nothing. Returns the exit code: 1 if the data fails its integrity checks;
 * then nothing was changed.
 */
export async function runResume(
  terminal: Terminal,
  check: boolean,
  json: boolean,
): Promise<number> {
  const { remark, progress } = terminal
  const say = json ? () => {} : terminal.say
  const config = configOf(terminal)
  const resumed = await resume({
    ...config,
    secrets: knownSecrets(config),
    isTrial: check,
    progress: (workspace, done) => progress(`${workspace}: hashed ${done} entries`),
  })
  if (json) terminal.say(jsonText({ ...resumed, check }))
  switch (resumed.kind) {
    case "needless":
      say(
        "There is nothing to resume: the data is not a copy, and no entry that was signed is missing.\n",
      )
      break
    case "resumed":
      say(resumed.workspaces.map((one) => sentenceOf(one, check)).join(""))
      say(
        check
          ? "This was a check: nothing was changed.\n"
          : `Start the service with the heads file ${config.heads}. Never start the original again.\n`,
      )
      break
    case "refused":
      for (const reason of resumed.reasons) remark(`tallystick: ${reason}\n`)
      remark(
        "tallystick: nothing was changed. Run tallystick fsck for details; then restore an older backup, or check the disk\n",
      )
      return 1
  }
  for (const origin of resumed.strangers)
    remark(
      `tallystick: ${config.heads} also lists ${origin}, which this data does not have; if this workspace was given up, remove the line\n`,
    )
  return 0
}

function sentenceOf(
  { workspace, entries, because, epoch, origin }: ResumedWorkspace,
  check: boolean,
): string {
  if (because === undefined)
    return `${workspace}: it has all ${entries} entries that were signed; it ${check ? "would continue" : "continues"} in the same epoch.\n`
  const next = check
    ? `it would continue in a new epoch, ${epoch}.`
    : `it continues in epoch ${epoch}, as ${origin}.`
  return `${workspace}: ${because}; ${next} Its ${entries} entries stay. Receipts of any other entries are of entries that are lost.\n`
}
