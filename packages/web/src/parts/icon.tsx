// Icons, drawn by hand on a grid of 16. Those for copying and saving are in `copy.tsx` and `save.ts`,
// which the activity page loads only when somebody opens an entry.

export const checkIcon = "m3 8.5 3.2 3.2L13 4.8"
export const crossIcon = "m4 4 8 8m0-8-8 8"
export const attentionIcon = "M8 2.5 14 13H2L8 2.5Zm0 4v3m0 1.7v.1"
export const waitingIcon = "M8 2.5a5.5 5.5 0 0 1 0 11a5.5 5.5 0 0 1 0-11M8 5v3l2 1.4"
export const noneIcon = "M4.5 8h7"
export const printIcon = "M4.5 6V2.5h7V6m-7 5h-2V6h11v5h-2m-7-2h7v4.5h-7z"
export const rightIcon = "m6 4 4 4-4 4"
export const retryIcon = "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.5h-2.5"
export const searchIcon = "M11.2 7a4.2 4.2 0 1 1-8.4 0a4.2 4.2 0 0 1 8.4 0m-1 3.2 3.3 3.3"
export const fileIcon = "M4 2.5h5l3 3v8H4zM9 2.5v3h3"
export const leftIcon = "m10 4-4 4 4 4"
export const downIcon = "m4 6 4 4 4-4"
export const plusIcon = "M8 3.5v9M3.5 8h9"
export const minusIcon = "M3.5 8h9"
export const filterIcon = "M2.5 4.5h11M4.5 8h7M6.5 11.5h3"
export const sealIcon = "M8 2.5a5.5 5.5 0 0 1 0 11a5.5 5.5 0 0 1 0-11M5.6 8.2l1.7 1.7 3.2-3.6"
export const erasedIcon = "M3.9 12.1 12.1 3.9M8 2.5a5.5 5.5 0 0 1 0 11a5.5 5.5 0 0 1 0-11"
export const heldIcon = "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5"
export const archivedIcon = "M2.5 3.5h11v3h-11zM3.5 6.5v6h9v-6M6.5 9h3"
export const pendingIcon =
  "M8 3v.01M11.5 4.5v.01M13 8v.01M11.5 11.5v.01M8 13v.01M4.5 11.5v.01M3 8v.01M4.5 4.5v.01"
export const historyIcon = "M2.8 8a5.2 5.2 0 1 0 1.6-3.8L2.8 5.8m0-3v3h3M8 5.5V8l2 1.2"
export const keyIcon = "M10.5 2.5a3 3 0 1 1-2.3 4.9L3 12.6v.9h2v-1.5h1.5v-1.5L8 9M11 5.2v.1"

/** `of` is one of the paths above, so that a page contains only the icons that it shows. */
export function Icon({ of: path }: { readonly of: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}

export function ThemeIcon() {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M8 2.5a5.5 5.5 0 0 0 0 11z" fill="currentColor" />
      <circle cx="8" cy="8" r="5.5" />
    </svg>
  )
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" aria-hidden="true">
      <rect x="5" y="1" width="10" height="18" rx="2" fill="var(--wood)" />
      <path d="M12 1v18" stroke="var(--wood-shade)" />
      <path d="M5 4.6 15 3.6v3L5 6.2Z" fill="var(--lane-data)" />
      <path d="M5 9.3 15 8v4L5 10.7Z" fill="var(--lane-security)" />
      <path d="M5 14.8 15 13.4v3L5 16.4Z" fill="var(--lane-policy)" />
    </svg>
  )
}
