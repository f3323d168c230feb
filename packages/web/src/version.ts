declare const VERSION: string

/** Of the package that was built. */
export const version = VERSION
