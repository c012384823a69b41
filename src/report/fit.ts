/** A way to make a text smaller: what it leaves out, in words for the reader, and the change itself. */
export interface Reduction<Shape> {
  readonly leavesOut: string
  readonly apply: (shape: Shape) => Shape
}

/**
 * Renders a text that fits a limit in bytes: whole if it can be, else with one reduction after the other until it fits.
 * A reduction that changes nothing is not told. The last one must be small enough for any limit in use.
 *
 * @param render makes the text of a shape; it is told what was left out, to say so
 */
export function fit<Shape>(
  shape: Shape,
  reductions: readonly Reduction<Shape>[],
  render: (shape: Shape, leftOut: readonly string[]) => string,
  maxBytes: number,
): string {
  let current = shape
  let leftOut: readonly string[] = []
  let text = render(current, leftOut)
  for (const { leavesOut, apply } of reductions) {
    if (Buffer.byteLength(text) <= maxBytes) break
    const smaller = apply(current)
    const unchanged = render(smaller, leftOut) === text
    current = smaller
    if (unchanged) continue
    leftOut = [...leftOut, leavesOut]
    text = render(current, leftOut)
  }
  return text
}
