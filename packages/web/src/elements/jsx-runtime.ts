// JSX as elements of the document: a component is a function from its data to a node. These pages
// are drawn once and change in few places, so they need nothing that compares trees.

import { printable } from "@tallystick/proof"
import type { Child } from "./elements.ts"

type Attribute = string | number | boolean | undefined | ((event: Event) => void)
type Attributes = Readonly<Record<string, Attribute | Child>> & { readonly children?: Child }

// The compiler looks for the types of JSX under this name.
export declare namespace JSX {
  type Element = Node
  type ElementType = string | ((props: never) => Node)
  interface ElementChildrenAttribute {
    readonly children: unknown
  }
  interface IntrinsicElements {
    readonly [name: string]: Attributes
  }
}

/** Text becomes text, never markup. */
export function jsx<Props extends object>(
  type: string | ((props: Props) => Node),
  props: Props & Attributes,
): Node {
  if (typeof type === "function") return type(props)
  const { children, ...attributes } = props
  const node = drawings.has(type)
    ? document.createElementNS("http://www.w3.org/2000/svg", type)
    : document.createElement(type)
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value)
  append(node, children)
  return node
}

export const jsxs = jsx

export function Fragment({ children }: { readonly children?: Child }): Node {
  const fragment = document.createDocumentFragment()
  append(fragment, children)
  return fragment
}

/** Attributes can hold text from outside too, so invisible characters are shown in them. */
const spoken = new Set(["title", "aria-label"])
const drawings = new Set(["svg", "path", "rect", "circle", "g", "text"])

function setAttribute(node: Element, name: string, value: unknown): void {
  if (typeof value === "function")
    node.addEventListener(name.slice(2).toLowerCase(), value as EventListener) // only handlers are functions
  else if (typeof value === "string" || typeof value === "number")
    node.setAttribute(name, spoken.has(name) ? printable(String(value)) : String(value))
  // `aria-expanded="false"` differs from an absent attribute.
  else if (typeof value === "boolean" && name.startsWith("aria-"))
    node.setAttribute(name, String(value))
  else if (value === true) node.setAttribute(name, "")
}

function append(node: ParentNode, child: Child): void {
  if (child === undefined || child === null || typeof child === "boolean") return
  if (isList(child)) for (const each of child) append(node, each)
  // A string is appended as text.
  else node.append(child instanceof Node ? child : String(child))
}

function isList(child: Child): child is readonly Child[] {
  return Array.isArray(child)
}
