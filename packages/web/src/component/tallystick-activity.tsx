// <tallystick-activity>: one person's activity, within a page of any product. It draws in a shadow
// tree, with a style sheet that is not inline for a content security policy, and never as markup.

import type { ActivityPage } from "@tallystick/client/wire"
import { createActivityList, type ActivityList } from "../activity/activity-list.tsx"
import type { englishDetails } from "../activity/detail-phrases.ts"
import {
  english,
  englishActions,
  type ActionPhrase,
  type Reader,
  type Words,
} from "../activity/phrases.ts"
import type { ProvenEntry } from "../activity/prove-page.ts"
import { askJson, unreachable, type Refusal, type Told } from "../ask.ts"
import { elementOf, redraw } from "../elements/elements.ts"
import { loadAgain } from "../load-again.ts"
import { Icon, retryIcon } from "../parts/icon.tsx"
import { RefusalSection } from "../parts/refusal-section.tsx"
import { isHidden, isLinkOver, Skeleton } from "../parts/refused.tsx"
import { formatTime } from "../parts/time-element.tsx"
import { Verdict } from "../parts/verdict.tsx"
import css from "./component.css?inline"

const componentEnglish = {
  ...english,
  expired: "Your access has expired",
  expiredSays: "Reload the page to see your activity.",
  notShown: "Nothing to show",
  notShownSays: "Your activity cannot be shown here.",
}

/** Replacements of the English words, and texts for actions. */
export type ActivityPhrases = Partial<Words & typeof componentEnglish & typeof englishDetails> & {
  readonly actions?: Readonly<Record<string, ActionPhrase>>
}

/** Some of them are attributes, too. */
const properties = ["address", "workspace", "token", "phrases", "trustedKeys"] as const
const observed = ["address", "workspace", "token", "lang", "trusted-keys"]

// A server that renders pages may import this, and has no DOM.
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

export class TallystickActivity extends Base {
  static readonly observedAttributes: readonly string[] = observed

  #token: string | undefined
  #phrases: ActivityPhrases = {}
  #trustedKeys: readonly string[] | undefined
  #list: ActivityList | undefined
  #isDue = false
  #isExpired = false
  #place = document.createElement("div")
  #status = elementOf(<p class="unseen" role="status" />)

  /** Address of the service; by default the one that this script was loaded from. */
  get address(): string {
    return this.getAttribute("address") ?? new URL("./", import.meta.url).href
  }
  set address(address: string | undefined) {
    this.#reflect("address", address)
  }

  get workspace(): string {
    return this.getAttribute("workspace") ?? ""
  }
  set workspace(workspace: string | undefined) {
    this.#reflect("workspace", workspace)
  }

  /** An activity token. It is a property, so that it is not in the markup. */
  get token(): string | undefined {
    return this.#token || this.getAttribute("token") || undefined
  }
  set token(token: string | undefined) {
    this.#token = token
    this.#renew()
  }

  get phrases(): ActivityPhrases {
    return this.#phrases
  }
  set phrases(phrases: ActivityPhrases | undefined) {
    this.#phrases = phrases ?? {}
    this.#list?.draw()
  }

  /** Keys of the log from a trusted source. Entries under their signatures are confirmed. */
  get trustedKeys(): readonly string[] {
    return this.#trustedKeys ?? this.getAttribute("trusted-keys")?.match(/\S+/g) ?? []
  }
  set trustedKeys(keys: readonly string[] | undefined) {
    this.#trustedKeys = keys
    this.#renew()
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      const root = this.attachShadow({ mode: "open" })
      root.adoptedStyleSheets = [sheet()]
      root.append(this.#place, this.#status)
      for (const name of properties) this.#takeUp(name)
    }
    this.#load()
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now) return
    if (name === "lang") this.#list?.draw()
    else this.#renew()
  }

  /** Frameworks set a property to undefined or null to leave it out. */
  #reflect(name: string, value: string | null | undefined): void {
    if (value === undefined || value === null) this.removeAttribute(name)
    else this.setAttribute(name, value)
  }

  /** Removes what another token has shown, unless this token replaces an expired one. */
  #renew(): void {
    if (!this.#isExpired || this.token === undefined) {
      this.#isExpired = false
      this.#list = undefined
      this.#place.replaceChildren()
    }
    this.#load()
  }

  /** A property that was set before this script was loaded hides the accessor. */
  #takeUp(name: (typeof properties)[number]): void {
    if (!Object.hasOwn(this, name)) return
    const value: unknown = Reflect.get(this, name)
    Reflect.deleteProperty(this, name)
    Reflect.set(this, name, value)
  }

  /** Draws once for several changes in one turn. */
  #load(): void {
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      if (!this.isConnected || this.workspace === "" || this.token === undefined) return
      if (this.#list === undefined) redraw(this.#place, <Skeleton />)
      this.#list ??= this.#createList()
      void this.#list.load()
    })
  }

  #createList(): ActivityList {
    /** Drops what comes for a list that was replaced meanwhile, which is of another token. */
    const heard = async <Value,>(coming: Promise<Value>): Promise<Value> => {
      const value = await coming
      return list === this.#list ? value : new Promise(() => {})
    }
    const list = createActivityList({
      reader: (actions) => this.#reader(actions),
      ask: (query) => heard(this.#ask(query)),
      prove: (page) => heard(this.#prove(page)),
      working: (isWorking) => this.#place.setAttribute("aria-busy", String(isWorking)),
      announce: (text) => {
        this.#status.textContent = text
      },
      opened: (list) => redraw(this.#place, list),
      refused: (refusal) => redraw(this.#place, this.#refused(refusal)),
    })
    return list
  }

  #words(): Reader["words"] & typeof componentEnglish {
    return { ...componentEnglish, ...this.#phrases }
  }

  #reader(actions: Reader["actions"]): Reader {
    const locale = localeOf(this.closest<HTMLElement>("[lang]")?.lang)
    return {
      words: this.#words(),
      actions: { ...englishActions, ...actions, ...this.#phrases.actions },
      locale,
      time: (time, form) => formatTime(time, form, locale),
      verifier: new URL("verify", this.#base()),
    }
  }

  #base(): URL {
    return new URL(this.address.replace(/\/*$/, "/"), document.baseURI)
  }

  async #ask(query: URLSearchParams): Promise<Told<ActivityPage>> {
    const { token } = this
    const url = new URL(
      `v1/workspaces/${encodeURIComponent(this.workspace)}/activity`,
      this.#base(),
    )
    url.search = query.toString()
    const told = await askJson<ActivityPage>(url, { token })
    if (token !== this.token) return told
    this.#isExpired = !told.ok && told.refusal.code === "token_expired"
    // The listener sets another token, and then the request is repeated.
    if (this.#isExpired)
      this.dispatchEvent(new Event("token-expired", { bubbles: true, composed: true }))
    return told
  }

  /** The verifying program is loaded with the first answer. Without it, no entry is shown. */
  async #prove(page: ActivityPage): Promise<Told<readonly ProvenEntry[]>> {
    try {
      const { provePage } = await loadAgain(() => import("../activity/prove-page.ts"))
      return { ok: true, value: provePage(page, this.trustedKeys) }
    } catch {
      return unreachable("the program that verifies entries could not be loaded")
    }
  }

  #refused(refusal: Refusal): Node {
    const words = this.#words()
    const retry = (): void => this.#load()
    const isOver = isLinkOver(refusal)
    if (!isOver && !isHidden(refusal))
      return <RefusalSection refusal={refusal} retry={retry} isPart words={words} />
    return (
      <section class="top" part="refusal">
        <Verdict tone="neutral" title={isOver ? words.expired : words.notShown} isPart>
          <p>{isOver ? words.expiredSays : words.notShownSays}</p>
          <p class="actions">
            <button type="button" class="button" part="button" onClick={retry}>
              <Icon of={retryIcon} /> {words.retry}
            </button>
          </p>
        </Verdict>
      </section>
    )
  }
}

/** Products also write `de_DE`, and names that are no language. */
function localeOf(lang = ""): string {
  try {
    return new Intl.Locale(lang.replaceAll("_", "-")).toString()
  } catch {
    return "en-GB"
  }
}

let shared: CSSStyleSheet | undefined

/**
 * The style sheets of our pages, for a shadow tree. The host page can override each colour and
 * size.
 */
function sheet(): CSSStyleSheet {
  if (shared !== undefined) return shared
  shared = new CSSStyleSheet()
  shared.replaceSync(css)
  return shared
}

declare global {
  interface HTMLElementTagNameMap {
    "tallystick-activity": TallystickActivity
  }
}

if (globalThis.customElements?.get("tallystick-activity") === undefined)
  globalThis.customElements?.define("tallystick-activity", TallystickActivity)
