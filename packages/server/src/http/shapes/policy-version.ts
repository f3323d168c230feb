import { Type } from "./type.ts"

/** Versions of a policy count 1, 2, 3… */
export const PolicyVersion = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })

/** For an entry: in metadata, a writer may name a version that no policy of this ledger has. */
export const NamedPolicyVersion = Type.Integer({ minimum: 1 })
