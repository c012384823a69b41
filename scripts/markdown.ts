/** The lines of a Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}

function line(cells: readonly string[]): string {
  return `| ${cells.map(escapeCell).join(' | ')} |`
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}

/**
 * Replaces the content of a region of a document. A region is between `<!-- NAME: written by npm run docs -->` and
 * `<!-- end of NAME -->`.
 * @throws if the document has no such region
 */
export function replaceRegion(document: string, name: string, lines: readonly string[]): string {
  const start = `<!-- ${name}: written by npm run docs -->\n`
  const end = `<!-- end of ${name} -->`
  const from = document.indexOf(start)
  const to = document.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`The document has no region ${start}…${end}`)
  return `${document.slice(0, from)}${start}\n${lines.join('\n')}\n\n${document.slice(to)}`
}

/**
 * Renders the thresholds in a document: what stands between `<!-- NAME -->` and `<!-- / -->`. Times are in whole minutes
 * from two minutes on.
 * @param thresholds by name; those of times end with `Ms`
 * @throws if no threshold has this name
 */
export function renderThresholds(document: string, thresholds: Readonly<Record<string, number>>): string {
  return document.replace(/<!-- ([a-z]\w+) -->[^<]*<!-- \/ -->/g, (_, name: string) => {
    const value = thresholds[name]
    if (value === undefined) throw new Error(`src/thresholds.ts has no ${name}`)
    return `<!-- ${name} -->${name.endsWith('Ms') ? timeText(value) : value.toLocaleString('en')}<!-- / -->`
  })
}

function timeText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  return ms >= 120_000 && ms % 60_000 === 0 ? `${ms / 60_000} minutes` : `${(ms / 1_000).toLocaleString('en')} seconds`
}
