// The pages that are loaded later, as one script.

export { openConsents } from "./consents/consents.tsx"
export { ConsentLookUp } from "./consents/look-up.tsx"
export { openLifetime } from "./lifetime/lifetime.tsx"
export { openPolicies } from "./policies/policies.tsx"
export { openSettings } from "./settings/settings.tsx"
export { openSystem } from "./system/system.tsx"
export { openWorkspaces } from "./workspaces/workspaces.tsx"
