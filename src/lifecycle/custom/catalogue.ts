import { groupOf, type KindName } from '../../cluster/objects.ts'
import { compileEntry, findEntry, type HealthCheck, loadCompiler } from '../../plan/health-checks.ts'
import { type CatalogueEntry, catalogueFiles } from './catalogue-files.ts'

/** The entries of these kinds; kinds without an entry are omitted. Compiles no CEL. */
export async function findEntries<Kind extends KindName>(
  kinds: readonly Kind[],
): Promise<readonly { readonly kind: Kind; readonly entry: CatalogueEntry }[]> {
  const distinct = new Map(kinds.map((kind) => [`${groupOf(kind.apiVersion)} ${kind.kind}`, kind]))
  const found = await Promise.all(
    [...distinct.values()].map(async (kind) => {
      // The exact group decides before a suffix, also for a kind that it has no entry for.
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

/**
 * The entries of these kinds and of those that they own or apply, with compiled expressions. The CEL library is
 * loaded only if there is an entry.
 */
export async function loadCatalogue(kinds: readonly KindName[]): Promise<readonly HealthCheck[]> {
  const behind = (await findEntries(kinds)).flatMap(({ entry: { owns = [], applies = [] } }) => [...owns, ...applies])
  const found = await findEntries([...kinds, ...behind])
  if (found.length === 0) return []
  const compiler = await loadCompiler()
  return found.map(({ kind, entry }) => ({
    ...compileEntry(entry, compiler),
    group: groupOf(kind.apiVersion),
    kind: kind.kind,
  }))
}
