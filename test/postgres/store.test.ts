import assert from "node:assert/strict"
import test from "node:test"
import { startPostgres } from "../postgres-server.ts"
import { defaultLimits } from "../../packages/server/src/limits.ts"
import { indexContract } from "../../packages/server/src/store/contract/index-contract.ts"
import { journalContract } from "../../packages/server/src/store/contract/journal-contract.ts"
import { registryContract } from "../../packages/server/src/store/contract/registry-contract.ts"
import {
  segmentsContract,
  type OpenedFiling,
} from "../../packages/server/src/store/contract/segments-contract.ts"
import type { OpenedStore } from "../../packages/server/src/store/contract/stories.ts"
import {
  openPostgres,
  openPostgresFiling,
  openPostgresWatched,
} from "../../packages/server/src/store/postgres/open-postgres.ts"

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

const onDeath = (cause: Error) => assert.fail(cause)

async function openBeside<T extends { close(): Promise<void> }>(
  databaseUrl: string,
  openOther: (url: string) => T,
) {
  const served = await openPostgres({ databaseUrl, limits: defaultLimits }, onDeath)
  const other = openOther(databaseUrl)
  let isOpen = true
  const close = async (): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    await other.close()
    await served.close()
  }
  return { served, other, close }
}

async function openStore(url: string): Promise<OpenedStore> {
  const { served, other: watched, close } = await openBeside(url, openPostgresWatched)
  const reopen = () => close().then(() => openStore(url))
  return { served, watched, close, reopen }
}

async function openFiling(url: string): Promise<OpenedFiling> {
  const { served, other: filing, close } = await openBeside(url, openPostgresFiling)
  const reopen = () => close().then(() => openFiling(url))
  return { served, filing, close, reopen }
}

for (const contract of [journalContract, registryContract, indexContract])
  contract("postgres", async () => openStore(await server.createDatabase()))

segmentsContract("postgres", async () => openFiling(await server.createDatabase()))
