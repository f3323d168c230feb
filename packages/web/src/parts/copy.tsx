import { Icon, checkIcon, copyIcon } from "./icon.tsx"
import { announce } from "./page.tsx"

interface CopyProps {
  /** A function: what it is when somebody copies it. */
  readonly text: string | (() => string)
  /** What is copied, in words: `Copy receipt id`. */
  readonly label: string
  /** With its label beside the icon. */
  readonly isWide?: boolean
}

/** Copies, and says so. */
export function Copy({ text, label, isWide = false }: CopyProps) {
  const copy = async ({ currentTarget: button }: Event): Promise<void> => {
    if (!(button instanceof HTMLElement)) return
    const isCopied = await copyText(typeof text === "string" ? text : text())
    const content = [...button.childNodes]
    announce(isCopied ? "Copied" : "Not copied: this browser does not allow it")
    if (!isCopied || button.classList.contains("done")) return
    button.classList.add("done")
    button.replaceChildren(<Icon of={checkIcon} />, isWide ? " Copied" : "")
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

/** Over plain HTTP there is no clipboard but that of the selection. */
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
