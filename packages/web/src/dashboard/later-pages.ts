// The pages that are loaded later, as one script.

export { openConsents } from "./consents/consents.tsx"
export { ConsentLookUp } from "./consents/look-up.tsx"
export { openLifetime } from "./lifetime/lifetime.tsx"
