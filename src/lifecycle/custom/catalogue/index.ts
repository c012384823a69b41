import type { KindName } from '../../../cluster/objects.ts'
import { groupOf } from '../../../cluster/store.ts'
import { loadCompiler } from '../../../plan/expressions.ts'
import { type CatalogueEntry, type CatalogueGroup, compileEntry, type OperatorCheck } from './entry.ts'
import * as groups from './groups.ts'

/** All groups of the catalogue: the exports of its files, under any name. */
export const catalogueGroups: readonly CatalogueGroup[] = Object.values(groups)

/** The entries of these kinds; kinds without an entry are omitted. Compiles no CEL. */
export function findEntries<Kind extends KindName>(
  kinds: readonly Kind[],
): readonly { readonly kind: Kind; readonly entry: CatalogueEntry }[] {
  const distinct = new Map(kinds.map((kind) => [`${groupOf(kind.apiVersion)} ${kind.kind}`, kind]))
  return [...distinct.values()].flatMap((kind) => {
    const { entries = [] } = findGroup(groupOf(kind.apiVersion)) ?? {}
    const entry = entries.find((each) => each.kind === kind.kind) ?? entries.find((each) => each.kind === '*')
    return entry === undefined ? [] : [{ kind, entry }]
  })
}

/**
 * The entries of these kinds and of those that they own or await, with compiled expressions. The CEL library is loaded only if there
 * is an entry.
 */
export async function loadCatalogue(kinds: readonly KindName[]): Promise<readonly OperatorCheck[]> {
  const behind = findEntries(kinds).flatMap(({ entry: { owns = [], awaits } }) => [
    ...owns,
    ...(awaits ? [awaits] : []),
  ])
  const found = findEntries([...kinds, ...behind])
  if (found.length === 0) return []
  const compiler = await loadCompiler()
  return found.map(({ kind, entry }) => compileEntry(entry, kind, compiler))
}

/** The group with this name, else the one with the longest suffix. */
function findGroup(name: string): CatalogueGroup | undefined {
  const suffixed = catalogueGroups.filter(({ group }) => group.startsWith('*.') && name.endsWith(group.slice(1)))
  const [longest] = suffixed.toSorted((a, b) => b.group.length - a.group.length)
  return catalogueGroups.find(({ group }) => group === name) ?? longest
}
