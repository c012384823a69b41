import { groupOf, type KindName } from '../../cluster/objects.ts'
import { compileEntry, findEntry, type HealthCheck, loadCompiler } from '../../plan/health-checks.ts'
import { type CatalogueEntry, catalogueFiles } from './catalogue-files.ts'

/** Finds the catalogue entries for these kinds, without compiling their CEL expressions. */
export async function findEntries<Kind extends KindName>(
  kinds: readonly Kind[],
): Promise<readonly { readonly kind: Kind; readonly entry: CatalogueEntry }[]> {
  const distinct = new Map(kinds.map((kind) => [`${groupOf(kind.apiVersion)} ${kind.kind}`, kind]))
  const found = await Promise.all(
    [...distinct.values()].map(async (kind) => {
      // A file for the exact API group overrides a file for a group suffix, even without an entry for the kind.
      const file = findEntry(
        { ...kind, kind: '*' },
        catalogueFiles.flatMap(({ groups, load }) => groups.map((group) => ({ group, kind: '*', load }))),
      )
      const entries = (await file?.load())?.filter(({ group }) => group === file?.group) ?? []
      const entry = findEntry(kind, entries)
      return entry === undefined ? [] : [{ kind, entry }]
    }),
  )
  return found.flat()
}

/** Loads the compiled entries for these kinds, and for the kinds that they own or apply. */
export async function loadCatalogue(kinds: readonly KindName[]): Promise<readonly HealthCheck[]> {
  const dependents = (await findEntries(kinds)).flatMap(({ entry: { owns = [], applies = [] } }) => [
    ...owns,
    ...applies,
  ])
  const found = await findEntries([...kinds, ...dependents])
  if (found.length === 0) return []
  const compiler = await loadCompiler()
  return found.map(({ kind, entry }) => ({
    ...compileEntry(entry, compiler),
    group: groupOf(kind.apiVersion),
    kind: kind.kind,
  }))
}
