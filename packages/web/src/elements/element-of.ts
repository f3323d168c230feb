export function elementOf(node: Node): HTMLElement {
  if (!(node instanceof HTMLElement)) throw new TypeError("this is one element")
  return node
}
