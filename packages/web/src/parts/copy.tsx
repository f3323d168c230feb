import { rootOf } from "../elements/elements.ts"
import { Icon, checkIcon } from "./icon.tsx"

const copyIcon =
  "M7 5.5h5a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5H7A1.5 1.5 0 0 1 5.5 12V7A1.5 1.5 0 0 1 7 5.5ZM3.5 10.5h-1v-8h8v1"

interface CopyProps {
  /** A function is called when somebody copies. */
  readonly text: string | (() => string)
  /** The label: `Copy receipt id`. */
  readonly label: string
  readonly isWide?: boolean
  readonly words?: Readonly<typeof copyWords>
}

export const copyWords = {
  copied: "Copied",
  notCopied: "Not copied: this browser does not allow it",
}

export function Copy({ text, label, isWide = false, words = copyWords }: CopyProps) {
  const copy = async ({ currentTarget: button }: Event): Promise<void> => {
    if (!(button instanceof HTMLElement)) return
    const isCopied = await copyText(typeof text === "string" ? text : text())
    const content = [...button.childNodes]
    // For screen readers.
    const status = rootOf(button)?.querySelector('.unseen[role="status"]')
    if (status) status.textContent = isCopied ? words.copied : words.notCopied
    if (!isCopied || button.classList.contains("done")) return
    button.classList.add("done")
    button.replaceChildren(<Icon of={checkIcon} />, isWide ? ` ${words.copied}` : "")
    setTimeout(() => {
      button.classList.remove("done")
      button.replaceChildren(...content)
    }, 2000)
  }
  return (
    <button
      type="button"
      class={isWide ? "button" : "icon-button"}
      aria-label={isWide ? undefined : label}
      title={isWide ? undefined : label}
      onClick={(event: Event) => void copy(event)}
    >
      <Icon of={copyIcon} />
      {isWide && ` ${label}`}
    </button>
  )
}

/** Over plain HTTP only the selection can be copied. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const focused = document.activeElement
    const area = document.createElement("textarea")
    area.value = text
    area.className = "unseen"
    document.body.append(area)
    area.select()
    const isCopied = document.execCommand("copy")
    area.remove()
    if (focused instanceof HTMLElement) focused.focus()
    return isCopied
  }
}

/** The API call with the same result. The reader fills in the key. */
function curlOf(url: string): string {
  const quoted = url.replaceAll("'", String.raw`'\''`)
  return `curl -sS '${quoted}' -H "Authorization: Bearer $TALLYSTICK_KEY"`
}

export function CopyCurl({ url }: { readonly url: string | (() => string) }) {
  return (
    <Copy text={() => curlOf(typeof url === "string" ? url : url())} label="Copy as curl" isWide />
  )
}
