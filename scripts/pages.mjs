// Builds the pages of packages/web into packages/server/pages, from where the service serves them,
// if they are stale. What is there names the sources that it was built from.
//
// Each entry of packages/web/package.json is a page, or an element that other pages embed. Beside
// each file stands what it is compressed to, so that the service compresses nothing.

import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { index, out, pagesAreBuilt, root, sourcesHash } from "./pages-sources.mjs"

const web = join(root, "packages", "web")

if (!pagesAreBuilt()) await build()

async function build() {
  const began = performance.now()
  const sources = sourcesHash()
  // It takes a while to load, which whoever has nothing to build need not wait for.
  const vite = await import("vite")
  const { exports, version } = JSON.parse(readFileSync(join(web, "package.json"), "utf8"))
  const entries = Object.entries(exports).filter(([name]) => name !== "./elements/jsx-runtime")
  const pages = {}
  rmSync(out, { recursive: true, force: true })
  mkdirSync(join(out, "assets"), { recursive: true })
  for (const [name, path] of entries) {
    const page = await bundle(vite, version, name.slice(2), join(web, path))
    for (const { fileName, content } of page.files) put(fileName, content)
    pages[name.slice(2)] = page
  }
  put("verify.html", savedVerifier(pages))
  // Written last: a build that was cut short is stale.
  for (const [name, { script, style }] of Object.entries(pages)) pages[name] = { script, style }
  writeFileSync(index, `${JSON.stringify({ sources, pages }, null, 2)}\n`)
  console.error(`pages: built in ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

/**
 * A page in one script and one style: few people see two of them, and what is compressed together is
 * smaller.
 */
async function bundle(vite, version, name, path) {
  // Other pages name its file, so it has the same name in every version.
  const isElement = name.startsWith("tallystick-")
  const { output } = await vite.build({
    configFile: false,
    root: web,
    // The pages find each other relatively: a proxy may serve them under a prefix.
    base: "./",
    logLevel: "error",
    define: { VERSION: JSON.stringify(version) },
    plugins: [plainImports()],
    oxc: { jsx: { runtime: "automatic", importSource: "@tallystick/web/elements" } },
    worker: { rolldownOptions: { output: { entryFileNames: "assets/[name]-[hash].js" } } },
    build: {
      write: false,
      target: "es2023",
      cssMinify: "lightningcss",
      modulePreload: false,
      rolldownOptions: {
        input: { [name]: path },
        // Icons and other constants stand where they are used, which compresses better than names.
        optimization: { inlineConst: { mode: "all", pass: 2 } },
        // What an element exports stays; what it loads later imports from it.
        ...(isElement && { preserveEntrySignatures: "allow-extension" }),
        output: {
          entryFileNames: isElement ? "[name].js" : "assets/[name]-[hash].js",
          chunkFileNames: "assets/[name]-[hash].js",
          assetFileNames: "assets/[name]-[hash][extname]",
        },
      },
    },
  })
  const files = output.map(({ fileName, code, source }) => ({
    fileName,
    content: Buffer.from(code ?? source).toString(),
  }))
  const [style, ...others] = files.filter(({ fileName }) => fileName.endsWith(".css"))
  if (others.length > 0) throw new Error(`a style of ${name} is in a file that nothing names`)
  return {
    files,
    script: output.find(({ isEntry }) => isEntry).fileName,
    style: style?.fileName,
  }
}

/**
 * The verifier as one file, which opens without a network and without the service: style and
 * scripts stand in it, named by their hashes, and it may ask nothing of anybody. The program of its
 * worker stands in it as text.
 */
function savedVerifier({
  theme: {
    files: [theme],
  },
  verify: { files, script, style },
}) {
  const contentOf = (wanted) => files.find(({ fileName }) => wanted(fileName)).content
  const [first, entry, look, program] = [
    theme.content,
    contentOf((name) => name === script),
    contentOf((name) => name === style),
    contentOf((name) => name.includes("verifying-worker")),
  ]
  if ([first, entry, look, program].some((text) => /<\/(?:script|style)|<!--/i.test(text)))
    throw new Error("a script or style would end the element that it stands in")
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(first)} ${hashOf(entry)}`,
    `style-src ${hashOf(look)}`,
    "img-src data:",
    "worker-src blob:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ")
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Verify evidence · Tallystick</title>
<style>${look}</style>
<script>${first}</script>
</head>
<body>
<div id="page"><noscript>This page needs JavaScript. The command tallystick verify does the same.</noscript></div>
<script type="text/plain" id="verifying-worker">${program}</script>
<script type="module">${entry}</script>
</body>
</html>
`
}

function hashOf(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`
}

function put(path, content) {
  const bytes = Buffer.from(content)
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(join(out, path), bytes)
  writeFileSync(join(out, `${path}.br`), brotliCompressSync(bytes, { params }))
  // With less memory the blocks are shorter, and their codes may fit them better.
  const coded = [5, 6, 7, 8].map((memLevel) => gzipSync(bytes, { level: 9, memLevel }))
  const [smallest] = coded.toSorted((one, other) => one.length - other.length)
  writeFileSync(join(out, `${path}.gz`), smallest)
}

/**
 * Vite wraps each import() in a loader of styles, which has twice the size of what we load so. These
 * files have no styles of their own.
 */
function plainImports() {
  const wrapping = new Set(["vite:build-import-analysis", "native:import-analysis-build"])
  return {
    name: "plain-imports",
    configResolved({ plugins }) {
      const others = plugins.filter(({ name }) => !wrapping.has(name))
      if (others.length !== plugins.length - wrapping.size)
        throw new Error("another version of Vite wraps imports elsewhere")
      plugins.splice(0, plugins.length, ...others)
    },
  }
}
