import type { Session } from "@tallystick/client/wire"
import { askJson, type Told } from "../ask.ts"
import type { Child } from "../elements/elements.ts"
import { Field, Form, textIn } from "../parts/form.tsx"
import { Mark } from "../parts/icon.tsx"
import type { Page } from "../parts/page.tsx"
import { root, takeToken } from "../place.ts"

type Entered = (session: Session) => void

/** `wasIn`: the session has ended; after signing in, the page is shown again. */
export function showSignIn(page: Page, entered: Entered, wasIn = false): void {
  const submit = (values: FormData) =>
    ask("session", { email: textIn(values, "email"), password: textIn(values, "password") })
  document.title = "Sign in · Tallystick"
  page.show(
    <Entrance title="Sign in">
      {wasIn && <p class="soft">Your session has ended. Sign in, and go on where you were.</p>}
      <Form action="Sign in" submit={submit} done={entered}>
        <Field name="email" label="E-mail" type="email" autocomplete="username" />
        <Field name="password" label="Password" type="password" autocomplete="current-password" />
      </Form>
      <p class="soft small">
        No account yet? The first start of the service prints a link that makes one. Everyone else
        is invited by an admin, who can also make a new link for a lost password.
      </p>
    </Entrance>,
  )
  document.getElementById("field-email")?.focus()
}

export function showSetUp(page: Page, entered: Entered): void {
  const token = takeToken("setup")
  // An invitation has the e-mail already.
  const isFirst = new URLSearchParams(location.search).has("first")
  document.title = "Set up an account · Tallystick"
  if (token === undefined)
    return page.show(
      <Entrance title="This link is not whole">
        <p class="soft">
          A set-up link ends with <code>#t=</code> and a token. Copy the whole line that the service
          printed, or ask who invited you for a new link.
        </p>
        <p class="actions">
          <a class="button" href={new URL("ui", root).href}>
            Sign in
          </a>
        </p>
      </Entrance>,
    )
  const submit = (values: FormData) =>
    ask("setup", {
      token,
      email: textIn(values, "email"),
      name: textIn(values, "name"),
      password: textIn(values, "password"),
    })
  page.show(
    <Entrance title="Set up your account">
      <p class="soft">
        {isFirst
          ? "You become the first admin of this instance. The link that brought you here works once."
          : "The link that brought you here works once. If you have an account of this instance already, give its password."}
      </p>
      <Form action="Set up and sign in" submit={submit} done={entered}>
        {isFirst && <Field name="email" label="E-mail" type="email" autocomplete="username" />}
        <Field name="name" label="Name" autocomplete="name" optional />
        <Field
          name="password"
          label="Password"
          type="password"
          autocomplete="new-password"
          minLength={12}
          maxLength={256}
          hint="12 characters or more. A sentence is good."
        />
      </Form>
    </Entrance>,
  )
  document.querySelector("input")?.focus()
}

function ask(path: string, body: object): Promise<Told<Session>> {
  return askJson(new URL(`v1/${path}`, root), { method: "POST", body })
}

function Entrance({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <section class="top entrance">
      <Mark />
      <h1>{title}</h1>
      {children}
    </section>
  )
}
