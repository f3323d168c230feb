// The table of endpoints in docs/api.md, made from the description of the API.

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly summary: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

/** The page, with the table after its marker made from the description. */
export function withTable(page: string, { paths }: Description): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, { summary, security }]) =>
        `| \`${method.toUpperCase()} ${path}\` | ${needs(security)} | ${summary} |\n`,
    ),
  )
  const table = `| endpoint | needs | does |\n| --- | --- | --- |\n${rows.join("")}`
  return page.replace(/(<!-- endpoints -->\n)(?:\|.*\n)*/, (_, mark: string) => mark + table)
}

/** `admin` includes `read`, and a member may do what a key may: the page says both once. */
function needs(security: Operation["security"]): string {
  const of = (scheme: string) => security.flatMap((way) => way[scheme] ?? [])
  const [scope] = of("apiKey")
  const ways = [
    ...(scope === undefined ? [] : [scope === "instance" ? "the instance key" : `\`${scope}\``]),
    ...(scope === undefined && security.some((way) => "session" in way) ? ["a session"] : []),
    ...of("scopedToken").map((type) => `${/^[ae]/.test(type) ? "an" : "a"} ${type} token`),
  ]
  const isPublic = security.some((way) => Object.keys(way).length === 0)
  // Signing out without a session is done already.
  if (isPublic && scope === undefined) return "nothing"
  return isPublic ? `${ways.join(", or ")}; nothing where it is public` : ways.join(", or ")
}
