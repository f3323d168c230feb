// A tally stick, split in two. The upper half is cut by the hash that was computed from the entry,
// the lower one by the hash that the receipt names: they match, or visibly do not.

interface SplitStickProps {
  readonly computed: string
  readonly named: string
  readonly lane: string
  readonly label: string
  readonly state: "sealed" | "pending" | "broken"
}

export function SplitStick({ computed, named, lane, label, state }: SplitStickProps) {
  const says =
    state === "broken"
      ? `A tally stick split in two. The notch of entry ${label} does not run through both halves.`
      : `A tally stick split in two. The notch of entry ${label} runs through the ledger's half and through the half of your receipt, and they match.`
  return (
    <svg
      class={`stick ${state}-stick`}
      viewBox="0 0 800 100"
      preserveAspectRatio="xMidYMid slice"
      role="img"
      aria-label={says}
    >
      <text x="404" y="12" text-anchor="middle">
        {label}
      </text>
      <g>
        <path class="face" d="M16 18h768a10 10 0 0 1 10 10v20H24A16 15 0 0 1 16 18z" />
        <path
          class="grain"
          d="M32 25c120-3 240 4 380 1s250-3 376 0M42 37c150 3 300-2 460 0s190 2 284 1"
        />
        <path class="lit" d="M16 18.7h770" />
        <path class="neighbours" d={cuts(computed, 18, 30)} />
        <path class={`own lane-${lane}`} d={ownCut(computed, 18, 30)} />
      </g>
      <g class="half">
        <path class="face" d="M150 51h644v20a10 10 0 0 1-10 10H150z" />
        <path
          class="grain"
          d="M152 58c130-3 240 2 350 0s190-2 290 0M152 71c160 2 290-2 400 0s160 1 240 0"
        />
        <path class="low" d="M150 80.3h636" />
        <path class="neighbours" d={cuts(named, 51, 30)} />
        <path class={`own lane-${lane}`} d={ownCut(named, 51, 30)} />
      </g>
    </svg>
  )
}

/** The plain cuts of the neighbours: where and how wide, by the digits of the hash. */
function cuts(hash: string, top: number, height: number): string {
  return places
    .map((place, at) => {
      const digits = parseInt(hash.slice(at * 4, at * 4 + 2), 16) || 0
      const x = place + (digits % 22)
      return cut(x, digits > 127 ? 8 : 4, top, height)
    })
    .join("")
}

/** Left and right of the middle. */
const places = [174, 208, 242, 276, 312, 344, 462, 498, 534, 570, 606, 642, 678, 714, 746]

/** The one that the receipt is of. Its width is the last digit of its hash. */
function ownCut(hash: string, top: number, height: number): string {
  return cut(396, 14 + ((parseInt(hash.at(-1) ?? "0", 16) || 0) % 4), top, height)
}

/** Slanted as a knife leaves it; through both halves it is one line. */
function cut(x: number, width: number, top: number, height: number): string {
  const lean = (y: number): number => (y - 18) * 0.04
  const edge = (from: number, y: number, sign: number) => (from - sign * lean(y)).toFixed(1)
  const bottom = top + height
  return `M${edge(x, top, 0.2)} ${top}L${edge(x + width, top, 1)} ${top} ${edge(x + width, bottom, 1)} ${bottom} ${edge(x, bottom, 0.2)} ${bottom}z`
}
