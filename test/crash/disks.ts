import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

// Small disks of our own: a file with a file system in it, mounted. Only root may have one, and not
// in every container; where there is none, `noDisk` says why.

export type FileSystem = "ext4" | "xfs"

export interface Disk extends Disposable {
  /** The mount point. */
  readonly path: string
  /** Cuts the power: unsynced data is lost, and nothing can be written until it is back. */
  cutPower(): void
  /** Restores the power: the file system recovers as after a crash. */
  restorePower(): void
}

/** Why there can be no disk here; undefined when there can. */
export function noDisk(kind: FileSystem): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "only root on Linux may mount a disk"
  const missing = [`mkfs.${kind}`, "mount", "umount", "perl"].find(
    (tool) => spawnSync("which", [tool]).status !== 0,
  )
  if (missing !== undefined) return `${missing} is not installed`
  try {
    openDisk(kind).close()
    return undefined
  } catch (error) {
    return `no disk can be mounted here: ${String(error)}`
  }
}

/** Files of these sizes are the smallest that both can be made of. */
const megabytesOf = { ext4: 64, xfs: 320 } as const

export function makeDisk(kind: FileSystem, megabytes?: number): Disk {
  const { path, mount, unmount, close } = openDisk(kind, megabytes)
  const atExit = (): void => close()
  process.once("exit", atExit)
  return {
    path,
    cutPower: () => run("perl", ["-e", shutdown, path]),
    restorePower() {
      unmount()
      mount()
    },
    [Symbol.dispose]() {
      process.off("exit", atExit)
      close()
    },
  }
}

/** The ioctl of both file systems, with the flag that does not flush even the journal. */
const shutdown =
  'open(my $f, "<", $ARGV[0]) or die "$!"; my $how = pack("L", 2); defined ioctl($f, 0x8004587d, $how) or die "$!"'

function openDisk(kind: FileSystem, megabytes: number = megabytesOf[kind]) {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-disk-"))
  const image = join(folder, "image")
  const path = join(folder, "mounted")
  const mount = (): void => run("mount", ["-o", "loop", image, path])
  const unmount = (): void => run("umount", [path])
  const close = (): void => {
    spawnSync("umount", ["-l", path])
    rmSync(image, { force: true })
    if (existsSync(join(path, "lost+found"))) return // still mounted: nothing in it is ours to remove
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    run("mkdir", [path])
    run("truncate", ["-s", `${megabytes}M`, image])
    run(`mkfs.${kind}`, ["-q", image])
    mount()
  } catch (error) {
    close()
    throw error
  }
  return { path, mount, unmount, close }
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8", timeout: 30_000 })
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr.trim()}`)
}
