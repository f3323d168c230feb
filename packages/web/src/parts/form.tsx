// Forms: fields with labels above, and the error of the service next to the button.

import type { Refusal, Told } from "../ask.ts"
import { elementOf, redraw, type Child } from "../elements/elements.ts"
import { Button } from "./button.tsx"
import { Copy } from "./copy.tsx"
import { Text } from "./text.tsx"
import { State } from "./verdict.tsx"

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly type?: "text" | "email" | "password" | "number" | "datetime-local" | "textarea"
  readonly value?: string | number
  readonly hint?: Child
  readonly optional?: boolean
  readonly placeholder?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly min?: number
  readonly pattern?: string
  /** The `autocomplete` name for browsers and password managers. */
  readonly autocomplete?: string
  readonly isMono?: boolean
}

export function Field({
  name,
  label,
  type = "text",
  value = "",
  hint,
  optional = false,
  autocomplete = "off",
  isMono = false,
  ...rules
}: FieldProps) {
  const id = idFor(name)
  const shared = {
    id,
    name,
    autocomplete,
    class: isMono ? "field mono" : "field",
    required: !optional,
    // Browsers add it to what they say of a value that does not match.
    title: rules.pattern !== undefined && hint,
    ...(hint !== undefined && { "aria-describedby": `${id}-hint` }),
    ...rules,
  }
  return (
    <div class="form-row">
      <label for={id}>
        {label}
        {optional && <span class="quiet"> (optional)</span>}
      </label>
      {type === "textarea" ? (
        <textarea {...shared} rows={6}>
          {value}
        </textarea>
      ) : (
        <input {...shared} type={type} value={value} step={type === "datetime-local" && "any"} />
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  )
}

/** A dialog may have a field with the name of one in the page below it. */
function idFor(name: string): string {
  let id = `field-${name}`
  while (document.getElementById(id) !== null) id += "-"
  return id
}

interface ChoiceProps {
  readonly name: string
  readonly label: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly value?: string
  readonly hint?: Child
}

export function Choice({ name, label, options, value, hint }: ChoiceProps) {
  const id = idFor(name)
  return (
    <div class="form-row">
      <label for={id}>{label}</label>
      <select id={id} name={name} class="field">
        {options.map(([each, text]) => (
          <option value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  )
}

interface CheckProps {
  readonly name: string
  readonly value?: string
  readonly label: Child
  readonly isChecked?: boolean
}

export function Check({ name, value = "on", label, isChecked = false }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={isChecked} /> <span>{label}</span>
    </label>
  )
}

export interface FormProps<Value> {
  readonly action: string
  /** A refusal is shown, and the form keeps its values. */
  readonly submit: (values: FormData) => Promise<Told<Value>>
  readonly done?: (value: Value) => void
  readonly cancel?: () => void
  /** What is typed here is work: leaving the page asks first. */
  readonly isWork?: boolean
  readonly children?: Child
}

/** Work that is not saved: a form, or a part of one. */
export function unsaved(): HTMLElement | null {
  return document.querySelector("[data-unsaved]")
}

export function Form<Value>(props: FormProps<Value>) {
  const { action, submit, done, cancel, isWork = false, children } = props
  const refused = elementOf(<div role="alert" />)
  const buttons = elementOf(
    <p class="actions">
      <button class="button main">{action}</button>
      {cancel && <Button onClick={cancel}>Cancel</Button>}
    </p>,
  )
  // Closing the form would not cancel what it has sent.
  const wait = (isWaiting: boolean): void =>
    buttons.querySelectorAll("button").forEach((each) => (each.disabled = isWaiting))
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!(event.target instanceof HTMLFormElement)) return
    const focused = document.activeElement
    wait(true)
    refused.replaceChildren()
    const told = await submit(new FormData(event.target))
    wait(false)
    if (told.ok) {
      delete event.target.dataset["unsaved"]
      return done?.(told.value)
    }
    redraw(refused, <RefusedLine refusal={told.refusal} />)
    // A button that is disabled loses the focus.
    if (document.activeElement === document.body && focused instanceof HTMLElement) focused.focus()
  }
  const typed = ({ currentTarget }: Event): void => {
    if (isWork && currentTarget instanceof HTMLFormElement) currentTarget.dataset["unsaved"] = ""
  }
  return (
    <form class="form" onSubmit={(event: Event) => void send(event)} onInput={typed}>
      {children}
      {refused}
      {buttons}
    </form>
  )
}

interface RefusedLineProps {
  readonly refusal: Refusal
  /** For an error that replaces a part of the page: adds a button to retry. */
  readonly retry?: () => void
}

/** An error in one line: next to a button, in a list, or instead of a part. */
export function RefusedLine({ refusal: { code, detail, requestId }, retry }: RefusedLineProps) {
  return (
    <State in="p" class="refused-line" tone="attention">
      <Text of={`${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`} />{" "}
      <Text
        of={requestId === undefined ? code : `${code}, request ${requestId}`}
        in="code"
        class="quiet"
      />
      {requestId !== undefined && <Copy text={requestId} label="Copy request id" />}{" "}
      {retry !== undefined && (
        <Button kind="plain" onClick={retry}>
          Try again
        </Button>
      )}
    </State>
  )
}

/** The text of a field that is filled in, or undefined. */
export function textIn(values: FormData, name: string): string | undefined {
  const value = values.get(name)
  return typeof value === "string" && value !== "" ? value : undefined
}
