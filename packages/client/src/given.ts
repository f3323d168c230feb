import { isObject } from "@tallystick/proof"
import { invalidRequest } from "./error.ts"

// What a program gives to a call. One without types may give anything.

/** Every member may be absent, or undefined, which means the same. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/** The given object, or an empty one. */
export function objectOf<T extends object>(given: T | undefined, name: string): Optional<T> {
  if (given === undefined) return {}
  if (isObject(given)) return given
  throw invalidRequest(`${name} must be an object`)
}
