// A published version of a policy: its sections, their hash, and the changes in them.

import { canonicalize, parseJson, sha256, toHex, utf8 } from "@tallystick/proof"
import type { Policy, PolicyAnswer, PolicySection } from "@tallystick/client/wire"
import { askJson, type Refusal, type Told } from "../ask.ts"
import { Copy } from "../parts/copy.tsx"
import { Hash } from "../parts/hash.tsx"
import { openPage } from "../parts/page.tsx"
import { Print } from "../parts/button.tsx"
import { NotOpened, Skeleton } from "../parts/refused.tsx"
import { Lines, Text } from "../parts/text.tsx"
import { Time } from "../parts/time.tsx"
import { State } from "../parts/verdict.tsx"
import { apiUrl, pathParts, root, takeToken } from "../place.ts"
import { Differences } from "./differences.tsx"
import "../style/tokens.css"
import "../style/base.css"
import "./policy.css"

const [, workspace = "", wanted = "latest"] = pathParts()
const parameters = new URLSearchParams(location.search)
const projectId = parameters.get("projectId") ?? "core"
const comparedWith = parameters.get("compare")
const token = takeToken("p", workspace, projectId)

interface Read {
  readonly policy: Policy
  /** Whether the sections have the hash in the answer. */
  readonly holds: boolean
}

const page = openPage({ beside: <Print /> })
page.about(
  <>
    <Text of={workspace} />, project <Text of={projectId} />
  </>,
)
if (document.querySelector("main > section") === null) page.show(<Skeleton />)
await load()

async function load(): Promise<void> {
  page.working(true)
  const [shown, latest, before] = await Promise.all([
    get(wanted),
    wanted === "latest" ? undefined : get("latest"),
    comparedWith === null ? undefined : get(comparedWith),
  ])
  page.working(false)
  if (!shown.ok) return page.show(<NotReceived refusal={shown.refusal} />)
  const newest = latest?.ok === true ? latest.value.policy.version : undefined
  const { version } = shown.value.policy
  document.title = `Policy, version ${version} · Tallystick`
  page.show(
    <PolicyView
      read={shown.value}
      newest={wanted === "latest" ? version : newest}
      compared={before?.ok === true ? before.value : undefined}
    />,
  )
  // The browser looked for the section before it was drawn.
  if (location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

async function get(version: string): Promise<Told<Read>> {
  const url = apiUrl(workspace, "published-policy", version)
  url.searchParams.set("projectId", projectId)
  const told = await askJson<PolicyAnswer>(url, { token })
  if (!told.ok) return told
  const { policy } = told.value
  const sections = parseJson(JSON.stringify(policy.sections)) ?? null
  const holds = toHex(sha256(utf8(canonicalize(sections)))) === policy.sectionHash
  return { ok: true, value: { policy, holds } }
}

function NotReceived({ refusal }: { readonly refusal: Refusal }) {
  return (
    <NotOpened refusal={refusal} whom={workspace} retry={() => void load()}>
      There is no such version, or it is private. If somebody sent you here, ask them for a link
      that opens it.
    </NotOpened>
  )
}

interface PolicyProps {
  readonly read: Read
  readonly newest: number | undefined
  readonly compared: Read | undefined
}

function PolicyView({ read: { policy, holds }, newest, compared }: PolicyProps) {
  const before = compared?.policy
  const { version, publishedAt, sectionHash, sections } = policy
  return (
    <>
      <section class="top">
        <h1>Policy, version {version}</h1>
        <p class="lead soft">
          Published on <Time at={publishedAt} />. A published version never changes.
        </p>
        <State in="p" class="small" tone={holds ? "intact" : "broken"}>
          {holds
            ? "Its text hashes to what the server names, recomputed in this browser"
            : "Its text does not hash to what the server names"}
        </State>
        {compared?.holds === false && (
          <State in="p" class="small" tone="broken">
            The text of version {compared.policy.version} does not hash to what the server names
          </State>
        )}
        <p class="policy-hash">
          <Hash of={sectionHash} /> <Copy text={sectionHash} label="Copy hash" />
        </p>
        <Versions version={version} newest={newest} comparedWith={before?.version} />
        {sections.length > 2 && <Contents sections={sections} />}
      </section>
      {sections.map((section) => (
        <Section section={section} before={before} />
      ))}
      {before?.sections
        .filter(({ id }) => !sections.some((section) => section.id === id))
        .map(({ id, title, body }) => (
          <section class="policy-section" aria-label={`${id}, removed`}>
            <h2>
              <del>
                <Text of={title} />
              </del>
            </h2>
            <p class="policy-text">
              <del>
                <Lines of={body} />
              </del>
            </p>
          </section>
        ))}
    </>
  )
}

interface VersionsProps {
  readonly version: number
  readonly newest: number | undefined
  readonly comparedWith: number | undefined
}

/** Versions count 1, 2, 3, so that all of them are known from the newest. */
function Versions({ version, newest, comparedWith: compared }: VersionsProps) {
  return (
    <nav class="versions small" aria-label="Versions">
      {version > 1 && <a href={addressOf(version - 1)}>Version {version - 1}</a>}
      {newest !== undefined && (
        <span class="quiet">
          {version === newest ? "This is the newest" : `Version ${version} of ${newest}`}
        </span>
      )}
      {newest !== undefined && version < newest && (
        <a href={addressOf(version + 1)}>Version {version + 1}</a>
      )}
      {compared === undefined ? (
        version > 1 && (
          <a href={addressOf(version, version - 1)}>Compare with version {version - 1}</a>
        )
      ) : (
        <a href={addressOf(version)}>Without the comparison with version {compared}</a>
      )}
    </nav>
  )
}

function addressOf(version: number, compare?: number): string {
  const url = new URL(`p/${encodeURIComponent(workspace)}/${version}`, root)
  if (projectId !== "core") url.searchParams.set("projectId", projectId)
  if (compare !== undefined) url.searchParams.set("compare", String(compare))
  return url.href
}

function Contents({ sections }: { readonly sections: readonly PolicySection[] }) {
  return (
    <nav class="contents small not-printed" aria-label="Sections">
      <ol>
        {sections.map(({ id, title }) => (
          <li>
            <Text of={title} in="a" href={`#${anchorOf(id)}`} />
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** With a prefix, so that the id of a section does not collide with the page's own ids. */
function anchorOf(id: string): string {
  return `section-${id}`
}

function Section({
  section: { id, title, body },
  before,
}: {
  readonly section: PolicySection
  readonly before: Policy | undefined
}) {
  const old = before?.sections.find((section) => section.id === id)
  return (
    <section class="policy-section" id={anchorOf(id)} aria-labelledby={`${anchorOf(id)}-title`}>
      <h2 id={`${anchorOf(id)}-title`}>
        {before === undefined ? (
          <Text of={title} />
        ) : (
          <Differences before={old?.title ?? ""} after={title} />
        )}
        <a class="anchor not-printed" href={`#${anchorOf(id)}`} aria-label={`Link to ${title}`}>
          #
        </a>
      </h2>
      <p class="policy-text">
        {before === undefined ? (
          <Lines of={body} />
        ) : (
          <Differences before={old?.body ?? ""} after={body} />
        )}
      </p>
    </section>
  )
}
