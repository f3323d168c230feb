import type { OpenView } from "../desk.ts"

export const openOverview: OpenView = () => ({
  title: "Overview",
  node: <h1>Overview</h1>,
})
