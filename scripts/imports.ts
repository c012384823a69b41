import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/** The text of each file of `src/`, by its path from the root. */
export function readSources(root: string): ReadonlyMap<string, string> {
  return new Map(
    readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  )
}

/** The files of `src/` that a file imports, also lazily and for types alone. */
export function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, name = '']) =>
    normalize(join(dirname(path), name)),
  )
}

/** `src/cluster` of `src/cluster/store.ts`; a file at the root is a part of its own. */
export function partOf(path: string): string {
  return path.split('/').length > 2 ? path.split('/').slice(0, 2).join('/') : path
}

/** What each part imports from others. */
function importsByPart(sources: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>()
  for (const [path, text] of sources) {
    const part = partOf(path)
    const own = imports.get(part) ?? new Set()
    imports.set(part, own)
    for (const target of importsOf(path, text)) if (partOf(target) !== part) own.add(partOf(target))
  }
  return imports
}

/** Small files that most parts import, and the launchers: they would hide the rest. */
const omitted = /^src\/(?:errors|duration|version|node-version|workspace|index|cli|merge|entrypoints)\.ts$/

/**
 * A Mermaid diagram of the parts of `src/`. An arrow leads from a part to one that imports it, as data flows. An arrow
 * is left out if others already lead there.
 */
export function architectureDiagram(sources: ReadonlyMap<string, string>): string[] {
  const imports = importsByPart(new Map([...sources].filter(([path]) => !omitted.test(path))))
  for (const own of imports.values()) for (const part of own) if (omitted.test(part)) own.delete(part)
  const reaches = (from: string, to: string): boolean =>
    [...(imports.get(from) ?? [])].some((part) => part === to || reaches(part, to))
  const name = (part: string) => part.slice('src/'.length)
  const id = (part: string) => name(part).replace(/\W/g, '_')
  const parts = [...imports.keys()].sort()
  return [
    '```mermaid',
    'flowchart LR',
    ...parts.map((part) => `    ${id(part)}["${name(part)}"]`),
    ...parts.flatMap((part) => {
      const own = [...(imports.get(part) ?? [])].sort()
      const isDirect = (target: string) => !own.some((other) => other !== target && reaches(other, target))
      return own.filter(isDirect).map((target) => `    ${id(target)} --> ${id(part)}`)
    }),
    '```',
  ]
}
