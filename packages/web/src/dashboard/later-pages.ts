// The pages that are loaded later, as one script.

export { openAccess } from "./access/access.tsx"
export { openConsents } from "./consents/consents.tsx"
export { openLifetime } from "./lifetime/lifetime.tsx"
export { openPeople } from "./people/people.tsx"
export { openPolicies } from "./policies/policies.tsx"
export { openSettings } from "./settings/settings.tsx"
export { openSystem } from "./system/system.tsx"
export { openWorkspaces } from "./workspaces/workspaces.tsx"
