// The priority of a thread: background threads leave the processor to those that answer requests.

import { setPriority } from "node:os"

/**
 * Lowers the priority of this thread, 0 to 19. On Linux each thread has a priority of its own.
 * Elsewhere this would slow the whole process.
 */
export function lowerPriority(niceness: number): void {
  if (process.platform !== "linux") return
  try {
    setPriority(0, niceness)
  } catch {
    // The system does not allow it. The thread works at normal priority.
  }
}
