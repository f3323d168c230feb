/** The letter of a lane, in its colour. */
export function LaneLetter({ of: lane }: { readonly of: string }) {
  const known = laneOf(lane)
  return (
    <abbr class={`lane lane-${known}`} title={known}>
      {known.charAt(0).toUpperCase()}
    </abbr>
  )
}

/** One that this page knows. */
export function laneOf(lane: string | undefined): string {
  return lane !== undefined && ["security", "data", "policy"].includes(lane) ? lane : "operations"
}
