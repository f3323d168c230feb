// The verifier: takes files of evidence, and says of each whether it is genuine. Served by the
// service, and saved as one file that works without it.

import { elementOf } from "../elements/elements.ts"
import { Button, Print } from "../parts/button.tsx"
import { Icon, fileIcon } from "../parts/icon.tsx"
import { openPage } from "../parts/page.tsx"
import { root } from "../place.ts"
import { trustedKeys } from "../trusted-keys.ts"
import { evidenceIn, evidenceOfFile, evidenceOfFolder, type Evidence } from "./evidence.ts"
import { startJob, type Job } from "./job.tsx"
import { TrustedKeys } from "./trusted-keys-view.tsx"
import "../style/tokens.css"
import "../style/base.css"
import "./verify.css"

const isServed = location.protocol !== "file:" && !location.pathname.endsWith(".html")
const results = elementOf(<div id="results" />)
/** All files that were given and not removed. */
const jobs = new Set<Job>()

const page = openPage({ beside: <Print /> })
page.about("verifier")
page.show(
  <section class="top">
    <h1>Verify evidence</h1>
    <p class="lead soft">
      A receipt, a proof, an evidence pack or an export. Nothing is uploaded: everything is
      recomputed in this browser, and this page works without a network.
      {isServed && (
        <>
          {" "}
          <a href={new URL("verify.html", root).href} download="verify.html">
            Save it as one file
          </a>{" "}
          for a machine that has none.
        </>
      )}
    </p>
    <DropZone />
  </section>,
  results,
  <TrustedKeys />,
)
document.body.addEventListener("dragover", (event) => {
  event.preventDefault()
  document.body.classList.add("dragging")
})
document.body.addEventListener("dragleave", ({ relatedTarget }) => {
  if (relatedTarget === null) document.body.classList.remove("dragging")
})
document.body.addEventListener("drop", (event) => {
  event.preventDefault()
  document.body.classList.remove("dragging")
  if (event.dataTransfer !== null) void evidenceIn(event.dataTransfer).then(take)
})
trustedKeys.watch(() => jobs.forEach((job) => job.recheck()))

function take(given: readonly Evidence[]): void {
  for (const evidence of given) {
    const job = startJob(evidence, (removed) => jobs.delete(removed))
    jobs.add(job)
    results.prepend(job.place)
  }
}

function DropZone() {
  const files = chooser({ multiple: true }, (chosen) => take(chosen.map(evidenceOfFile)))
  const folder = chooser({ webkitdirectory: true }, (chosen) => take([evidenceOfFolder(chosen)]))
  return (
    <div class="drop not-printed">
      <Icon of={fileIcon} />
      <p>
        <b>Drop a file here</b>, or a folder
      </p>
      <div class="actions">
        <Button kind="main" onClick={() => files.click()}>
          Choose files
        </Button>
        <Button onClick={() => folder.click()}>Choose a folder</Button>
      </div>
      <p class="quiet small">
        .json, .jsonl, .tlog-proof, .zip, or the folder of an export or of an unpacked pack
      </p>
      {files}
      {folder}
    </div>
  )
}

function chooser(kind: object, chosen: (files: readonly File[]) => void): HTMLInputElement {
  const field = document.createElement("input")
  Object.assign(field, { type: "file", hidden: true, ...kind })
  field.addEventListener("change", () => {
    if (field.files !== null && field.files.length > 0) chosen([...field.files])
    // The same file may be chosen again, after somebody has changed it.
    field.value = ""
  })
  return field
}
