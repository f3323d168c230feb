// Runs the tests of a contract, each with its own store, which is closed in any case.

import { test, type TestContext } from "node:test"
import type { Store, WatchedStore } from "../store.ts"

export interface OpenedStore {
  readonly served: Store
  readonly watched: WatchedStore
  /** Closes, and opens the same data again; absent where nothing outlives the store. */
  readonly reopen?: () => Promise<OpenedStore>
  readonly close: () => Promise<void>
}

export type Open = () => Promise<OpenedStore>

export type Story<S> = (
  what: string,
  tell: (store: S, context: TestContext) => Promise<S | void>,
) => void

export function storiesOf<S extends { readonly close: () => Promise<void> }>(
  name: string,
  open: () => Promise<S>,
): Story<S> {
  return (what, tell) => {
    test(`${name}: ${what}`, async (context) => {
      const store = await open()
      let last = store
      try {
        last = (await tell(store, context)) ?? store
      } finally {
        await last.close()
      }
    })
  }
}
