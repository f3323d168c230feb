import { Type } from "./type.ts"

/** Versions of a policy count 1, 2, 3… */
export const PolicyVersion = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })

/** Of an entry: its writer may name a version in metadata that no policy of ours will have. */
export const NamedPolicyVersion = Type.Integer({ minimum: 1 })
