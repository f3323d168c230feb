// The marks of a lane: its letter, and its cut in the stick.

import type { Entry } from "@tallystick/client/wire"

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

/** A cut in the stick has the colour and the shape of its lane: one wedge, two cuts, a slant, a thin one. */
const shapes: Readonly<Record<string, readonly [whole: string, half: string]>> = {
  security: ["M0 8 18 4.6v10.8L0 12Z", "M.6 8 11 6.1v7.8L.6 12Z"],
  data: [
    "M0 5.2 18 4.2v4.2L0 8.2ZM0 12l18-.3v4.2l-18-1Z",
    "M.6 5.6 11 5.2v2.7H.6ZM.6 12.1 11 12v2.7L.6 14.4Z",
  ],
  policy: ["M0 12.2 18 3.8v4.7L0 16Z", "M.6 12.4 11 7.4v4.2L.6 16Z"],
  operations: ["M0 8.8 18 8.2v3.8L0 11.3Z", "M.6 9 11 8.7v2.7L.6 11.1Z"],
}

type NotchState = "sealed" | "pending" | "unproven" | "broken"

/** For an entry as the server states it. */
export function notchState(integrity: Entry["integrity"]): NotchState {
  if (integrity === "broken") return "broken"
  return integrity === "pending" ? "pending" : "sealed"
}

/** Sealed: cut right through. Pending and unproven: scribed on one half. Broken: a crack. */
export function Notch({ lane, state }: { readonly lane: string; readonly state: NotchState }) {
  const known = Object.hasOwn(shapes, lane) ? lane : "operations"
  const [whole = "", half = ""] = shapes[known] ?? []
  const path = state === "broken" ? "M-3 7l6 5 5-6 5 7 8-5" : state === "sealed" ? whole : half
  return (
    <svg class={`notch ${state} lane-${known}`} viewBox="0 0 18 20" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}
