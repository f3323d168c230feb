// Searches that this browser remembers: the last ones until a session ends, and saved ones.

import { attempt, keep, type Kept } from "../../kept.ts"

const recentMax = 8

export const recentSearches: Kept<readonly string[]> = keep("recent searches", read, JSON.stringify)
export const savedSearches: Kept<readonly string[]> = keep("saved searches", read, JSON.stringify)

export function remember(text: string): void {
  if (text === "") return
  const others = recentSearches.get().filter((each) => each !== text)
  recentSearches.set([text, ...others].slice(0, recentMax))
}

export function forgetRecent(): void {
  recentSearches.set([])
}

export function saveSearch(text: string): void {
  savedSearches.set([...savedSearches.get().filter((each) => each !== text), text])
}

export function forgetSearch(text: string): void {
  savedSearches.set(savedSearches.get().filter((each) => each !== text))
}

function read(text: string | null): readonly string[] {
  const kept = attempt((): unknown => JSON.parse(text ?? "[]"))
  return Array.isArray(kept)
    ? (kept as readonly unknown[]).filter((each) => typeof each === "string")
    : []
}
