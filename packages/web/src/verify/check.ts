import type { Evidence, Report } from "./evidence.ts"

interface Running {
  cancel(): void
}

/** `tell` is called until the report is `done`, or the check was cancelled. */
export function check(
  evidence: Evidence,
  trustedKeys: readonly string[],
  tell: (report: Report) => void,
): Running {
  const worker = startWorker()
  worker.onmessage = ({ data }: MessageEvent<Report>) => {
    if (data.is === "done") worker.terminate()
    tell(data)
  }
  // A worker ends like this when there is no memory for what it reads.
  worker.onerror = () => {
    worker.terminate()
    const reason = "it could not be checked in this browser; use tallystick verify"
    const finding = { what: "nothing", verdict: "unreadable", reason } as const
    tell({
      is: "done",
      findings: [{ ...finding, checks: [], notCovered: [], facts: {} }],
    })
  }
  worker.postMessage({ evidence, trustedKeys })
  return { cancel: () => worker.terminate() }
}

/** The saved verifier holds the program of the worker as text: a file can load no other file. */
function startWorker(): Worker {
  const program = document.getElementById("verifying-worker")?.textContent
  if (typeof program !== "string")
    return new Worker(new URL("./verifying-worker.ts", import.meta.url), { type: "module" })
  address ??= URL.createObjectURL(new Blob([program], { type: "text/javascript" }))
  return new Worker(address)
}

/** Of that program. It lasts as long as the page, for the next check. */
let address: string | undefined
