export type * from "./wire.ts"
