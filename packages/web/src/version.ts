declare const VERSION: string

/** The version of the built package. */
export const version = VERSION
