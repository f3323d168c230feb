#!/usr/bin/env node
// The command. In plain JavaScript, because what it does must be done before the first file with types is read.

import { enableCompileCache } from "node:module"
import { join } from "node:path"

// Code is compiled, and types are taken out of it, once and not at every start in each of six threads, where the means to do so would stay
// in memory. Threads find the folder in the environment; where it cannot be written, everything goes on without it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "..", ".cache")
enableCompileCache(process.env.NODE_COMPILE_CACHE)

await import("../src/main.ts")
