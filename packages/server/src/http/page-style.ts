/**
 * The style of pages without scripts, in the colours of the others. Their Content-Security-Policy has its hash, so no
 * other style applies.
 */
export const style = `
:root { color-scheme: light dark;
  --text: light-dark(oklch(0.235 0.014 55), oklch(0.935 0.008 82)); --quiet: light-dark(oklch(0.525 0.014 65), oklch(0.67 0.012 75));
  --line: light-dark(oklch(0.908 0.011 80), oklch(0.292 0.011 65)); --paper: light-dark(oklch(0.985 0.005 82), oklch(0.198 0.008 65));
  --shade: light-dark(oklch(0.958 0.009 82), oklch(0.165 0.007 65)); --link: light-dark(oklch(0.455 0.078 215), oklch(0.8 0.085 205));
  --get: light-dark(oklch(0.52 0.125 250), oklch(0.745 0.105 245)); --post: light-dark(oklch(0.455 0.1 152), oklch(0.795 0.125 152));
  --patch: light-dark(oklch(0.49 0.105 68), oklch(0.83 0.12 80)); --delete: light-dark(oklch(0.5 0.185 27), oklch(0.755 0.14 25)) }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; background: var(--paper); color: var(--text); font: 1rem/1.5 system-ui, sans-serif }
a { color: var(--link) }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.skip { position: absolute; left: -999rem }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--paper) }
header, main, footer { max-width: 64rem; margin: 0 auto; padding: 1rem 1.5rem }
nav { max-width: 64rem; margin: 0 auto; padding: 0 1.5rem; columns: 20rem }
nav section { break-inside: avoid; margin-bottom: 1rem }
nav h2 { margin: 0; border: 0; font-size: 1rem }
nav ul { margin: 0; padding: 0; list-style: none }
nav li { overflow-wrap: anywhere }
nav a:not(:hover) { text-decoration: none }
h1 { margin-bottom: 0; font-size: 1.75rem; letter-spacing: -.022em }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
article { margin: 2rem 0 3rem }
article h3 { margin-bottom: .25rem; overflow-wrap: anywhere }
h4 { margin: 1.25rem 0 .25rem }
p { margin: .25rem 0 .75rem }
.quiet { color: var(--quiet) }
code, pre { font: .875rem/1.5 ui-monospace, monospace }
pre { margin: .75rem 0 1rem; padding: .75rem 1rem; overflow-x: auto; background: var(--shade); border: 1px solid var(--line); border-radius: .375rem }
.table { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
td:first-child { white-space: nowrap }
.method { font-weight: 700 }
.get { color: var(--get) } .post { color: var(--post) } .patch { color: var(--patch) } .delete { color: var(--delete) }
@media print { nav, .skip { display: none } pre { white-space: pre-wrap } html { font-size: 8pt } main { max-width: none; columns: 2; column-gap: 2rem } }
`
