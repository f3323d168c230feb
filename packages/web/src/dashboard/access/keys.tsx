// Keys of programs: what each may do, who made it, when it was last used.

import type { ApiKey, ApiKeyList, CreatedApiKey, MadeByKey, Scope } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import { Button, waiting } from "../../parts/button.tsx"
import { openDialog, confirm, openSecretForm } from "../../parts/dialog.tsx"
import { Check, Choice, Field, RefusedLine, textIn } from "../../parts/form.tsx"
import { Below, type Column } from "../../parts/table.tsx"
import { Secret } from "../../parts/secret.tsx"
import { Text, Unseen } from "../../parts/text.tsx"
import { Time, Ago } from "../../parts/time.tsx"
import { apiUrl } from "../../place.ts"
import type { Desk } from "../desk.ts"
import { listedTable } from "../listed-table.tsx"
import type { Query } from "../place.ts"
import { isUnused, keyState } from "./key-state.ts"
import { Made } from "./made.tsx"

const scopeSentences: Readonly<Record<Scope, string>> = {
  write: "Record events and consents. Reads nothing.",
  read: "Read everything, make evidence packs and links.",
  admin: "Administer: projects, policies, keys, people, settings. Includes reading, not writing.",
}

export function keysPart(desk: Desk): Node {
  const list = listedTable(desk, {
    path: ["api-keys"],
    itemsOf: ({ apiKeys }: ApiKeyList) => apiKeys,
    columns: (reload) => columns(desk, reload),
    isOver: (key) => keyState(key) !== "live",
    textOf: ({ name, keyId, scopes, projectIds = [] }) =>
      [name, beginningOf(keyId), ...scopes, ...projectIds].join(" "),
    empty: "There is no key yet. A program needs one to write or to read.",
    add: { name: "New key", open: (reload) => openNewKey(desk, reload) },
  })
  return <section class="top">{list.node}</section>
}

function columns(desk: Desk, changed: () => void): readonly Column<ApiKey>[] {
  return [
    {
      name: "Name",
      isPlain: true,
      draw: ({ name, keyId, scopes }) => (
        <>
          <Text of={name} in="b" />
          <Below>
            <code>{beginningOf(keyId)}</code>
            {scopes.includes("write") && (
              <>
                {" "}
                <a href={desk.link(["events"], { query: `key:${keyId}`, range: "all" })}>
                  What it wrote
                  <Unseen after=": " of={name} />
                </a>
              </>
            )}
          </Below>
        </>
      ),
    },
    { name: "May", draw: ({ scopes }) => scopes.join(", ") },
    {
      name: "Projects",
      draw: ({ projectIds }) =>
        projectIds === undefined ? "all" : <Text of={projectIds.join(", ")} />,
    },
    { name: "Made", draw: ({ createdAt, createdBy }) => <Made at={createdAt} by={createdBy} /> },
    { name: "Last use", draw: (key) => <LastUse of={key} /> },
    {
      name: "Revoke",
      isEnd: true,
      draw: (key) =>
        keyState(key) === "live" ? (
          <Button kind="plain" onClick={() => revoke(desk, key, changed)}>
            Revoke
            <Unseen of={key.name} />
          </Button>
        ) : (
          <>
            {keyState(key)}
            <br />
            <Button kind="plain" onClick={waiting(() => askLeft(desk, key, changed))}>
              What it made
              <Unseen after=": " of={key.name} />
            </Button>
          </>
        ),
    },
  ]
}

/** The known beginning of a key's text, by which somebody who finds a key can identify it. */
function beginningOf(keyId: string): string {
  return `tsk_${keyId.replace(/^.*_/, "")}_…`
}

function LastUse({ of: key }: { readonly of: ApiKey }) {
  const { lastUsedAt, lastUsedFrom, expiresAt } = key
  return (
    <>
      {lastUsedAt === undefined ? <span class="quiet">never</span> : <Ago at={lastUsedAt} />}
      {lastUsedFrom !== undefined && (
        <span class="quiet">
          {" "}
          from <Text of={lastUsedFrom} />
        </span>
      )}
      {isUnused(key) && <span class="attention"> unused for 90 days</span>}
      {expiresAt !== undefined && (
        <>
          <br />
          <span class="quiet">
            ends <Time at={expiresAt} form="date" />
          </span>
        </>
      )}
    </>
  )
}

const lifetimes: readonly (readonly [value: string, text: string])[] = [
  ["", "Never"],
  [String(30 * 86_400), "In 30 days"],
  [String(90 * 86_400), "In 90 days"],
  [String(365 * 86_400), "In a year"],
]

function openNewKey(desk: Desk, made: () => void): void {
  openSecretForm({
    title: "New API key",
    action: "Make the key",
    submit(values) {
      const projects = (textIn(values, "projects") ?? "").split(/[\s,]+/).filter((id) => id !== "")
      const seconds = textIn(values, "expires")
      return desk.send<CreatedApiKey>("POST", ["api-keys"], {
        name: textIn(values, "name"),
        scopes: values.getAll("scope"),
        ...(projects.length > 0 && { projectIds: projects }),
        ...(seconds !== undefined && { expiresInSeconds: Number(seconds) }),
      })
    },
    done: made,
    secret: newKey,
    children: (
      <>
        <Field name="name" label="Name" placeholder="billing service" maxLength={200} />
        <fieldset>
          <legend>It may</legend>
          {Object.entries(scopeSentences).map(([scope, sentence]) => (
            <Check
              name="scope"
              value={scope}
              isChecked={scope === "write"}
              label={
                <>
                  <b>{scope}</b> <span class="soft">{sentence}</span>
                </>
              }
            />
          ))}
        </fieldset>
        <Field
          name="projects"
          label="Only these projects"
          optional
          isMono
          hint="Ids, with spaces between. Empty: all projects, also future ones."
        />
        <Choice name="expires" label="It ends" options={lifetimes} />
      </>
    ),
  })
}

function newKey({ key, name, scopes, workspaceId }: CreatedApiKey, stored: () => void): Node {
  return (
    <Secret secret={key} label="Copy key" stored={stored}>
      <p>
        The key “
        <Text of={name} />” may {scopes.join(", ")}.
      </p>
      {scopes.includes("read") && (
        <p class="small soft">
          Try it:{" "}
          <code>curl -H "Authorization: Bearer …" {apiUrl(workspaceId, "events").href}</code>
        </p>
      )}
    </Secret>
  )
}

function revoke(desk: Desk, key: ApiKey, changed: () => void): void {
  confirm({
    title: "Revoke this key?",
    says: (
      <>
        “<Text of={key.name} />
        ”, whose text begins with <code>{beginningOf(key.keyId)}</code>, is refused from now on, and
        so are the links that it made. Nothing that it recorded changes. This cannot be undone.
      </>
    ),
    action: "Revoke it",
    act: () => end(desk, key, {}),
    done(made) {
      changed()
      if (made !== undefined) offerCascade(desk, key, made, changed)
    },
  })
}

function end(desk: Desk, { keyId }: ApiKey, query: Query): Promise<Told<MadeByKey | undefined>> {
  return desk.send("DELETE", ["api-keys", keyId], undefined, query)
}

function offerCascade(desk: Desk, key: ApiKey, made: MadeByKey, changed: () => void): void {
  const names = [...made.apiKeys.map(({ name }) => name), ...made.members.map(({ email }) => email)]
  if (names.length === 0) return
  confirm({
    title: "Also end what it made?",
    says: (
      <>
        The key is revoked. These were made with it, and still work: <Text of={names.join(", ")} />.
      </>
    ),
    action: "End them as well",
    act: () => end(desk, key, { cascade: true }),
    done: changed,
  })
}

/** Revoking again changes nothing, and lists the keys and members that the key has made. */
async function askLeft(desk: Desk, key: ApiKey, changed: () => void): Promise<void> {
  const at = location.href
  const told = await end(desk, key, {})
  // The reader has gone on.
  if (location.href !== at) return
  if (told.ok && told.value !== undefined) return offerCascade(desk, key, told.value, changed)
  openDialog("What it made", () =>
    told.ok ? (
      <p class="soft">Nothing that this key made still works.</p>
    ) : (
      <RefusedLine refusal={told.refusal} />
    ),
  )
}
