import { isObject } from "@tallystick/proof"
import { invalidRequest } from "./error.ts"

// What a program gives to a call. One without types may give anything.

/** Every member may be absent, or undefined, which means the same. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/** A body of a request: members that may be absent may be undefined, also within it. */
export type Given<T> = T extends object
  ? {
      readonly [Name in keyof T]:
        | Given<T[Name]>
        | (Pick<T, Name> extends Required<Pick<T, Name>> ? never : undefined)
    }
  : T

/** The given object, or an empty one. */
export function objectOf<T extends object>(given: T | undefined, name: string): Optional<T> {
  if (given === undefined) return {}
  if (isObject(given)) return given
  throw invalidRequest(`${name} must be an object`)
}
