/** The style of pages. Their Content-Security-Policy has its hash, so no other style applies. */
export const style = `
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #57606a; --line: #d0d7de; --paper: #ffffff; --shade: #f6f8fa; --link: #0550ae;
  --get: #0550ae; --post: #116329; --patch: #7d4e00; --delete: #a40e26 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --quiet: #9198a1; --line: #3d444d; --paper: #0d1117; --shade: #151b23; --link: #79b8ff;
    --get: #79b8ff; --post: #7ee787; --patch: #f0b72f; --delete: #ffa198 }
}
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
h1 { margin-bottom: 0 }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
article { margin: 2rem 0 3rem }
article h3 { margin-bottom: .25rem; overflow-wrap: anywhere }
h4 { margin: 1.25rem 0 .25rem }
p { margin: .25rem 0 .75rem }
.quiet { color: var(--quiet) }
code, pre { font: .875rem/1.5 ui-monospace, monospace }
pre { margin: .25rem 0; padding: .75rem 1rem; overflow-x: auto; background: var(--shade); border: 1px solid var(--line); border-radius: .375rem }
.table { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
td:first-child { white-space: nowrap }
.method { font-weight: 700 }
.get { color: var(--get) } .post { color: var(--post) } .patch { color: var(--patch) } .delete { color: var(--delete) }
@media print { nav, .skip { display: none } pre { white-space: pre-wrap } html { font-size: 8pt } main { max-width: none; columns: 2; column-gap: 2rem } }
`
