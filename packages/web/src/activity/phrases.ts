// Actions that are common enough to have a sentence. Every other one is shown by its name.

const phrases: Readonly<Record<string, string>> = {
  "auth.session.created": "signed in",
  "auth.session.ended": "signed out",
  "auth.session.revoked": "ended a session",
  "auth.login.succeeded": "signed in",
  "auth.login.failed": "failed to sign in",
  "auth.password.changed": "changed a password",
  "auth.password.reset": "reset a password",
  "mfa.device.enrolled": "added a sign-in device",
  "mfa.device.removed": "removed a sign-in device",
  "account.email.changed": "changed an e-mail address",
  "data.export.requested": "asked for an export of data",
  "data.export.finished": "received an export of data",
  "policy.consent.record": "agreed to a policy",
  "policy.consent.withdraw": "withdrew an agreement",
}

/** `signed in`, or undefined. */
export function phraseOf(action: string): string | undefined {
  return Object.hasOwn(phrases, action) ? phrases[action] : undefined
}
