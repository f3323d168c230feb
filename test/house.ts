import { posix } from "node:path"
import { readSource, type Import, type Source } from "./house-source.ts"

// The rules of the house as data, and the function that finds what breaks them. house.test.ts gives
// it the tree, and planted faults.
//
// A place is a file or folder below packages/, without the `src/` in between: "server/store/" is
// packages/server/src/store/.

/** Imports only point down: a file may import from its own place and from lower layers. */
const layers = [
  {
    layer: 5,
    places: [
      "server/main.ts",
      "server/serve.ts",
      "server/serve-lifetime.ts",
      "server/threads/",
      "server/operator/",
      "server/cli/",
    ],
  },
  { layer: 4, places: ["server/http/"] },
  { layer: 3, places: ["server/workspace/", "server/lifetime/"] },
  { layer: 2, places: ["server/ledger/", "server/followers/", "server/query/"] },
  { layer: 1, places: ["server/store/"] },
  {
    layer: 0,
    places: [
      "server/runtime/",
      "server/config.ts",
      "server/clock.ts",
      "server/limits.ts",
      "server/error.ts",
      "server/log.ts",
      "server/secrets/",
    ],
  },
]

/** Places in one layer that never import each other. */
const separate = [
  ["server/ledger/", "server/followers/", "server/query/"],
  ["server/store/memory.ts", "server/store/sqlite/", "server/store/postgres/"],
]

/** What a package may import of the others. A place in `types` may only be imported as a type. */
const packages: Record<
  string,
  { readonly values: readonly string[]; readonly types: readonly string[] }
> = {
  proof: { values: [], types: [] },
  client: { values: ["proof/"], types: [] },
  web: { values: ["proof/", "client/"], types: [] },
  server: { values: ["proof/", "client/wire.ts", "client/grammar.ts"], types: ["client/"] },
}

/** The commands are clients of the service like any other program. */
const clientPlaces = ["server/cli/"]

/** Below the programs these are types: their values come by argument. */
const typesBelowPrograms = ["server/config.ts"]

/** Places whose every import from outside the tree is listed. */
const listedModules = [
  { place: "proof/", modules: [/^@noble\//] },
  { place: "client/", modules: [] },
  { place: "web/", modules: [] },
  { place: "server/cli/verify-command.ts", modules: [/^node:fs$/] },
  { place: "server/cli/evidence-files.ts", modules: [/^node:(fs|path)$/] },
]

/** The offline verifier cannot reach the network because nothing that it imports can. */
const listedPlaces = [
  {
    place: "server/cli/verify-command.ts",
    places: ["proof/", "server/cli/evidence-files.ts"],
  },
  { place: "server/cli/evidence-files.ts", places: ["proof/"] },
]

/** Modules and globals that are an effect, and the only places that may have them. Tests may. */
const modulesAt = [
  { module: /^(node:sqlite|pg)(\/|$)/, places: ["server/store/"] },
  { module: /^node:timers(\/|$)/, places: ["server/clock.ts"] },
  { module: /^node:process$/, places: [] },
  // It compares texts line by line, which costs each thread 3 ms. Others take `assert` of proof.
  {
    module: /^node:assert(\/|$)/,
    places: [
      "server/store/contract/",
      "server/store/expect-chain.ts",
      "server/ledger/test-segments.ts",
    ],
  },
]
/** An `import` of these loads a whole HTTP client in each thread: server/http/node-http.ts. */
const importedAsTypes = { module: /^(node:)?https?$/, except: ["server/http/test-requests.ts"] }
const effectsAt = [
  { effect: /\bDate\s*\.\s*now\b/, places: ["server/clock.ts"] },
  { effect: /\bnew\s+Date\b(?!\s*\(\s*[^\s)])/, places: ["server/clock.ts"] },
  { effect: /(?<!(?<!globalThis)\.)\bset(Timeout|Interval)\b/, places: ["server/clock.ts"] },
  { effect: /\bprocess\s*\.\s*env\b/, places: ["server/main.ts", "server/cli/"] },
  // A failed fsync ends the process: the content of the disk is unknown, and only a new start reads
  // it.
  {
    effect: /\bprocess\s*\.\s*(exit|abort|kill)\b/,
    places: ["server/main.ts", "server/store/sqlite/"],
  },
]

/** In one case from keyword to keyword: a sentence that begins with "Select" is not SQL. */
const sql = [
  /^\s*(select\b[^]*\bfrom|insert\s+(or\s+\w+\s+)?into|update\s+\S+\s+set|delete\s+from|(create|drop|alter)\s+(\w+\s+)?(table|index|view)|pragma\s+\w|begin\s+(immediate|exclusive))\b/,
  /^\s*(SELECT\b[^]*\bFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|(CREATE|DROP|ALTER)\s+(\w+\s+)?(TABLE|INDEX|VIEW)|PRAGMA\s+\w|BEGIN\s+(IMMEDIATE|EXCLUSIVE))\b/,
]
const sqlPlaces = ["server/store/"]

/** Only tests import these files, which have what several tests need. They are in no package. */
const testAids = /\/(test-[^/]+|contract\/[^/]+)\.ts$/

/** A thing that fits nowhere is missing its noun. */
const bannedFolders = [
  "utils",
  "helpers",
  "common",
  "lib",
  "types",
  "services",
  "models",
  "core",
  "interfaces",
]

interface File {
  readonly path: string
  /**
   * Below packages/ without `src/`; undefined for test/ and scripts/, which may import anything.
   */
  readonly place: string | undefined
  readonly isTest: boolean
  readonly source: Source
}

interface Tree {
  readonly files: ReadonlyMap<string, File>
  /** "@tallystick/client/wire" → packages/client/src/wire.ts */
  readonly exported: ReadonlyMap<string, string>
  readonly manifests: ReadonlyMap<string, Manifest>
}

interface Manifest {
  readonly name?: string
  readonly main?: string
  readonly exports?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/**
 * A sentence for everything in the tree that breaks a rule. Takes every file's text by its path
 * from the root; package.json files among them.
 */
export function findFaults(texts: ReadonlyMap<string, string>): readonly string[] {
  const tree = readTree(texts)
  const files = [...tree.files.values()]
  return [
    ...files.flatMap((file) => [...importFaults(file, tree), ...effectFaults(file)]),
    ...deadFiles(tree),
    ...deadExports(tree),
    ...badFolders([...texts.keys()]),
  ]
}

function readTree(texts: ReadonlyMap<string, string>): Tree {
  const manifests = new Map<string, Manifest>()
  const exported = new Map<string, string>()
  const files = new Map<string, File>()
  for (const [path, text] of texts) {
    if (/\.(ts|tsx|mjs)$/.test(path))
      files.set(path, {
        path,
        place: placeOf(path),
        isTest: /\.(test|deep)\.tsx?$/.test(path),
        source: readSource(text),
      })
    // A package.json is ours: what npm accepts in these fields, and we do not write, would end as a
    // file that nothing reaches.
    if (/^(packages\/[^/]+\/)?package\.json$/.test(path))
      manifests.set(posix.dirname(path), JSON.parse(text) as Manifest)
  }
  for (const [folder, manifest] of manifests) {
    for (const [key, target] of Object.entries(manifest.exports ?? {}))
      exported.set(posix.join(manifest.name ?? "", key), posix.join(folder, target))
  }
  return { files, exported, manifests }
}

function placeOf(path: string): string | undefined {
  return /^packages\/[^/]+\/src\//.test(path)
    ? path.replace(/^packages\/([^/]+)\/src\//, "$1/")
    : undefined
}

function importFaults(file: File, tree: Tree): readonly string[] {
  if (file.place === undefined) return []
  const place = file.place
  const unplaced = packageOf(place) === "server" && layerOf(place) === undefined
  return [
    ...(unplaced ? [`${file.path} is in no layer: say in test/house.ts where it belongs`] : []),
    ...file.source.imports.flatMap((each) => {
      const target = resolve(file.path, each.from, tree)
      const fault =
        target === undefined
          ? moduleFault(file, place, each, tree)
          : placeFault(file, place, each, target)
      return fault === undefined ? [] : [`${file.path} imports ${each.from}: ${fault}`]
    }),
  ]
}

/**
 * The path from the root that an import names, or undefined if it is a module from outside the
 * tree.
 */
function resolve(path: string, from: string, tree: Tree): string | undefined {
  return from.startsWith(".") ? posix.join(posix.dirname(path), from) : tree.exported.get(from)
}

function moduleFault(
  file: File,
  place: string,
  { from, isType }: Import,
  tree: Tree,
): string | undefined {
  const name = from.split("/", from.startsWith("@") ? 2 : 1).join("/")
  if (!from.startsWith("node:")) {
    const owned = tree.manifests.get(`packages/${packageOf(place)}`)?.dependencies ?? {}
    // A type is gone when the program runs.
    const shared = file.isTest || isType ? (tree.manifests.get(".")?.devDependencies ?? {}) : {}
    if (!(name in owned) && !(name in shared)) return "its package.json does not name that"
  }
  if (file.isTest) return undefined
  const listed = listedModules.find((each) => isAt(place, [each.place]))
  if (listed !== undefined && !listed.modules.some((module) => module.test(from)))
    return `nothing in ${listed.place} may`
  if (!isType && importedAsTypes.module.test(from) && !isAt(place, importedAsTypes.except))
    return "that may only be imported as a type: take its values from process.getBuiltinModule"
  const kept = modulesAt.find((each) => each.module.test(from))
  if (kept !== undefined && !isAt(place, kept.places))
    return `only ${kept.places.join(", ") || "nobody"} may`
  return undefined
}

function placeFault(file: File, place: string, each: Import, path: string): string | undefined {
  const target = placeOf(path)
  const isForTests = file.isTest || testAids.test(file.path)
  if (target === undefined)
    return isForTests && path.startsWith("test/") ? undefined : "it lies outside the packages"
  if (testAids.test(path) && !isForTests) return "only tests may"
  const listed = file.isTest ? undefined : listedPlaces.find((list) => isAt(place, [list.place]))
  if (listed !== undefined && !isAt(target, listed.places))
    return `${listed.place} imports ${listed.places.join(", ")} only`

  if (packageOf(place) !== packageOf(target)) {
    const { values, types } = packages[packageOf(place)] ?? { values: [], types: [] }
    if (each.from.startsWith(".")) return "another package is imported by its name"
    if (isAt(place, clientPlaces) && isAt(target, ["client/"])) return undefined
    if (isAt(target, values) || (each.isType && isAt(target, types))) return undefined
    return isAt(target, types)
      ? "that may only be imported as a type"
      : `${packageOf(place)} may not import that`
  }
  const [own, other] = [layerOf(place), layerOf(target)]
  if (own === undefined || other === undefined) return undefined
  if (other > own) return `imports only point down, and that is in layer ${other}, above ${own}`
  if (file.isTest) return undefined
  if (own < 5 && !each.isType && isAt(target, typesBelowPrograms))
    return "below the programs that may only be imported as a type"
  const apart = separate.find(
    (places) =>
      isAt(place, places) &&
      isAt(target, places) &&
      !places.some((one) => isAt(place, [one]) && isAt(target, [one])),
  )
  return apart === undefined ? undefined : `${apart.join(", ")} never import each other`
}

function effectFaults(file: File): readonly string[] {
  const { place, source } = file
  // The client runs in the application of somebody else: its waits are its own, and
  // tsconfig.browser.json keeps Node's globals from it.
  if (place === undefined || file.isTest || !isAt(place, ["proof/", "server/"])) return []
  const effects = effectsAt.flatMap((each) => {
    const found = each.effect.exec(source.code)
    return found === null || isAt(place, each.places)
      ? []
      : [`${file.path} has ${found[0]}, which only ${each.places.join(", ")} may`]
  })
  const statement = isAt(place, sqlPlaces)
    ? undefined
    : source.strings.find((text) => sql.some((pattern) => pattern.test(text)))
  return statement === undefined
    ? effects
    : [
        ...effects,
        `${file.path} has SQL, which only ${sqlPlaces.join(", ")} may: ${statement.trim().slice(0, 40)}`,
      ]
}

/** The entry points of a package. */
function namedFiles({ manifests }: Tree): readonly string[] {
  return [...manifests].flatMap(([folder, { main, exports, bin }]) =>
    [main, ...Object.values(exports ?? {}), ...Object.values(bin ?? {})].flatMap((target) =>
      target === undefined ? [] : [posix.join(folder, target)],
    ),
  )
}

/** Files of packages that nothing reaches from what a package.json names and from the tests. */
function deadFiles(tree: Tree): readonly string[] {
  const named = namedFiles(tree)
  const missing = named
    .filter((path) => !tree.files.has(path))
    .map((path) => `${path} is named by its package.json and is not there`)
  const ways = [...tree.files.values()]
    .filter((file) => file.isTest || file.place === undefined)
    .map((file) => file.path)
  const reached = new Set<string>()
  for (const waiting = [...named, ...ways]; waiting.length > 0;) {
    const path = waiting.pop() ?? ""
    const file = tree.files.get(path)
    if (file === undefined || reached.has(path)) continue
    reached.add(path)
    for (const { from } of file.source.imports) waiting.push(resolve(path, from, tree) ?? "")
  }
  return [
    ...missing,
    ...[...tree.files.keys()]
      .filter((path) => !reached.has(path))
      .map((path) => `${path} is dead: no program and no test reaches it`),
  ]
}

/** Values that no other file imports. A type may be exported because a function speaks of it. */
function deadExports(tree: Tree): readonly string[] {
  const files = [...tree.files.values()]
  const taken = new Set(
    files.flatMap(({ path, source }) =>
      source.imports.flatMap(({ from, names }) =>
        names.map((name) => `${resolve(path, from, tree)} ${name}`),
      ),
    ),
  )
  const named = new Set(namedFiles(tree))
  return files
    .filter(({ path, place }) => place !== undefined && !named.has(path))
    .flatMap(({ path, source }) =>
      source.exports
        .filter((name) => !taken.has(`${path} ${name}`) && !taken.has(`${path} *`))
        .map((name) => `${path} exports ${name}, which no other file imports`),
    )
}

function badFolders(paths: readonly string[]): readonly string[] {
  const folders = new Set(paths.map((path) => posix.dirname(path)))
  const bad = [...folders].filter((folder) =>
    folder.split("/").some((name) => bannedFolders.includes(name)),
  )
  return bad.map((folder) => `${folder} is named after nothing that is in it: find its noun`)
}

function packageOf(place: string): string {
  return place.slice(0, place.indexOf("/"))
}

function layerOf(place: string): number | undefined {
  return layers.find((each) => isAt(place, each.places))?.layer
}

/** A test stands where the file it tests stands. */
function isAt(place: string, places: readonly string[]): boolean {
  const tested = place.replace(/\.test\.ts$/, ".ts")
  return places.some((each) => (each.endsWith("/") ? tested.startsWith(each) : tested === each))
}
