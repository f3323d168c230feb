import { Type } from "./type.ts"

// Ids: some are chosen by callers, the others are made by the service.

const name = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
const nameRule =
  "must be 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or a digit"

/** 36 upper-case characters of Crockford's base 32: ten of time, 26 random. */
const made = "[0-9A-HJKMNP-TV-Z]{36}"

const madeId = (prefix: string, what: string) =>
  Type.String({
    pattern: `^${prefix}_${made}$`,
    rule: `must be the id of ${what}: ${prefix}_ and 36 characters`,
    docs: { examples: [`${prefix}_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ`] },
  })

const shortId = (what: string) =>
  Type.String({
    pattern: "^[0-9A-Za-z]{13}$",
    rule: `must be the id of ${what}: 13 letters and digits`,
  })

export const WorkspaceId = Type.String({
  minLength: 1,
  pattern: `^${name}$`,
  rule: nameRule,
  docs: { examples: ["acme"] },
})

/** A project that a caller names; `all` and `system` mean something else. */
export const ProjectId = Type.String({
  minLength: 1,
  pattern: `^(?!(?:all|system)$)${name}$`,
  rule: `${nameRule}; all and system are reserved`,
  docs: { examples: ["core"] },
})

/** The projects of a query. */
export const ProjectFilter = Type.String({
  pattern: `^${name}$`,
  rule: `must be the id of a project, all, or system`,
  default: "all",
  docs: { examples: ["all", "core", "system"] },
})

export const ReceiptId = madeId("rcp", "a receipt")

/** The event id in an answer: empty if the content was destroyed or cannot be read. */
export const ShownEventId = Type.String({
  pattern: `^(?:evt_${made})?$`,
  rule: "must be the id of an event, or empty",
  docs: {
    examples: ["evt_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ"],
    description: "Empty if the content was destroyed.",
  },
})

export const PackId = madeId("pack", "an evidence pack")
export const ErasureId = madeId("era", "an erasure")
export const HoldId = madeId("hold", "a hold")

/** The part of an API key that is not secret. */
export const KeyId = shortId("an API key")

/** The part of a scoped token that is not secret. */
export const TokenId = shortId("a token")

/** A person with an e-mail address. The id is the same in every workspace. */
export const MemberId = shortId("a member")

/** Makes a write safe to repeat. Compared byte by byte. */
export const IdempotencyKey = Type.String({
  pattern: "^[!-~]{12,255}$",
  rule: "must be 12 to 255 characters from ! to ~, without spaces",
  docs: { minLength: 12, maxLength: 255, examples: ["order-4711-created"] },
})

/** SHA-256, in hex. */
export const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" })

/** A name for people. */
export const Label = Type.String({
  minLength: 1,
  maxLength: 200,
  rule: "must be 1 to 200 characters",
})
