// Reads TypeScript as far as house rules need it: which modules a file names, its code without
// comments, and its strings.

export interface Import {
  readonly from: string
  /** What it takes from there; "*" for all of it. */
  readonly names: readonly string[]
  /** Erased before it runs. */
  readonly isType: boolean
}

export interface Source {
  readonly imports: readonly Import[]
  /** The values that it exports by `export const`, `function` or `class`. */
  readonly exports: readonly string[]
  /**
   * Without comments and regular expressions, each string replaced by its number in `strings`: "0".
   */
  readonly code: string
  /**
   * What stands between the quotes, escapes and all; of a template, its text with ${} for each
   * expression.
   */
  readonly strings: readonly string[]
}

export function readSource(text: string): Source {
  const { code, strings } = lex(text)
  const exports = code.matchAll(
    /^\s*export\s+(?:async\s+)?(?:const|function\s*\*?|class)\s+([\w$]+)/gm,
  )
  return {
    imports: findImports(code, strings),
    exports: Array.from(exports, ([, name = ""]) => name),
    code,
    strings,
  }
}

/**
 * Static and dynamic imports, re-exports, and programs that are started by `new URL("./worker.ts",
 * import.meta.url)`.
 */
function findImports(code: string, strings: readonly string[]): readonly Import[] {
  const statements = code.matchAll(
    /\b(?:import|export)\s+(type\s+)?(?:([\w$*{},\s]+)\s+from\s*)?"(\d+)"/g,
  )
  const calls = [
    ...code.matchAll(/\bimport\s*\(\s*"(\d+)"/g),
    ...code.matchAll(/\bnew\s+URL\s*\(\s*"(\d+)"\s*,\s*import\.meta\.url/g),
  ]
  const found = [
    ...Array.from(statements, ([, type, clause = "", index]) => ({
      from: strings[Number(index)] ?? "",
      names: namesIn(clause),
      isType: Boolean(type),
    })),
    ...calls.map(([, index]) => ({
      from: strings[Number(index)] ?? "",
      names: ["*"],
      isType: false,
    })),
  ]
  // A folder of migrations or a page is named by a URL too, and is not imported.
  return found.filter(({ from }) => !from.startsWith(".") || /\.(ts|tsx|mjs)$/.test(from))
}

/** `{ seal, type Seal, open as openEntry }` takes seal, Seal and open; `* as sealing` takes *. */
function namesIn(clause: string): readonly string[] {
  return clause.split(/[{},]/).map((one) => one.trim().replace(/^type\s+|\s+as\s.*$/g, ""))
}

const token = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|[^/"'`{}]+|[^]/y
const chunk = /((?:\\[^]|\$(?!\{)|[^`\\$])*)(`|\$\{|$)/y
const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y

/** What may stand before a slash that begins a regular expression, rather than divides. */
const beforeExpression =
  /(^|[(,=:[!&|?{;+\-*%<>~^]|\b(return|typeof|case|of|in|await|yield|throw))\s*$/

function lex(text: string): { readonly code: string; readonly strings: readonly string[] } {
  const strings: string[] = []
  // One for each template that we are inside of: the index of its string, and how many braces are
  // open in its expression.
  const templates: { readonly index: number; braces: number }[] = []
  let code = ""
  let at = 0

  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found !== null) at = pattern.lastIndex
    return found
  }
  const takeChunk = (index: number): void => {
    const [, content = "", end = ""] = take(chunk) ?? []
    strings[index] += end === "${" ? `${content}\${}` : content
    if (end === "${") templates.push({ index, braces: 0 })
    code += end === "${" ? `"${index}" + (` : `"${index}"`
  }

  while (at < text.length) {
    if (
      text[at] === "/" &&
      !/[/*]/.test(text[at + 1] ?? "") &&
      beforeExpression.test(code.slice(-40)) &&
      take(expression) !== null
    ) {
      code += "/ /"
      continue
    }
    const [found = ""] = take(token) ?? []
    const template = templates.at(-1)
    if (/^\/[/*]/.test(found)) code += " "
    else if (found.length > 1 && /^["']/.test(found))
      code += `"${strings.push(found.slice(1, -1)) - 1}"`
    else if (found === "`") takeChunk(strings.push("") - 1)
    else if (found === "}" && template?.braces === 0) {
      code += ") + "
      templates.pop()
      takeChunk(template.index)
    } else {
      if (template !== undefined && found === "{") template.braces++
      if (template !== undefined && found === "}") template.braces--
      code += found
    }
  }
  return { code, strings }
}
