import { runRotateSecret } from "../../packages/server/src/cli/rotate-secret-command.ts"

// `tallystick secret rotate` with a kill in it:   node test/crash/rotate-killed.ts <n>
//
// It gets SIGKILL when its n-th step is on the disk. Before that, it prints the step.

const killedAt = Number(process.argv[2])
let steps = 0

await runRotateSecret({
  environment: process.env,
  say: (text) => process.stdout.write(text),
  progress: (step) => {
    steps += 1
    if (steps < killedAt) return
    process.stdout.write(`killed: ${step}\n`)
    process.kill(process.pid, "SIGKILL")
  },
})
