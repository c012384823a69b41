import { groupOf, type KindName, type KubeObject, type Subject, subjectOf } from '../../cluster/objects.ts'
import { nearest } from '../../errors.ts'
import { messageOf, type Problem, problemOf } from '../../reasons/reasons.ts'
import { fieldsOf } from '../conditions.ts'
import type { Reader } from '../reader.ts'
import { type Rule, withCheck } from '../rule.ts'
import { presentConditions } from '../status-age.ts'

/** An object that a spec names, as Flux does in `sourceRef`, `chartRef` and `chart.spec.sourceRef`. */
interface Reference {
  readonly kind: KindName
  readonly name: string
  readonly namespace: string | undefined
}

/** The maximum depth of a reference in a spec. */
const maxDepth = 4

/**
 * Adds to the rule of a custom resource whose controller does not find an object that the spec names: which objects have a
 * similar name, or the same name and another kind.
 * @param kinds the kinds that the spec may name
 */
export function withNamesakes(rule: Rule, kinds: readonly KindName[] = []): Rule {
  if (kinds.length === 0) return rule
  return withCheck(rule, (own, object, reader) => {
    const [first, ...others] = own.problems
    if (own.ready || first === undefined || !('signals' in first.detail)) return own
    const messages = presentConditions(object).map(({ message = '' }) => message)
    const missing = messages.some((message) => /\bnot (?:found|ready)\b/i.test(message))
      ? referencesIn(object.spec, object, kinds)
      : []
    const requests = missing.flatMap(({ namespace }) => kinds.map((kind) => ({ ...kind, namespace })))
    for (const request of requests) reader.watch(request, 'explaining')
    const namesakes = missing.flatMap((reference) => namesakesOf(reference, kinds, reader))
    if (namesakes.length === 0) return own
    const named = problemOf({ ...first, detail: { ...first.detail, namesakes } } as Problem)
    const problems = [named, ...others]
    return own.failure === first
      ? { ...own, problems, failure: named, message: messageOf(named) }
      : { ...own, problems }
  })
}

function referencesIn(value: unknown, object: KubeObject, kinds: readonly KindName[], depth = 0): readonly Reference[] {
  return fieldsOf([value]).flatMap((fields) => {
    const { name, namespace = object.metadata.namespace } = fields
    const kind = kinds.find((each) => each.kind === fields['kind'])
    if (kind !== undefined && typeof name === 'string' && name !== '')
      return [{ kind, name, namespace: typeof namespace === 'string' ? namespace : undefined }]
    return depth >= maxDepth
      ? []
      : Object.values(fields).flatMap((each) => referencesIn(each, object, kinds, depth + 1))
  })
}

/** The objects that may be meant; none while it is not known that the named one does not exist. */
function namesakesOf({ kind, name, namespace }: Reference, kinds: readonly KindName[], reader: Reader) {
  const objectsOf = (wanted: KindName) =>
    reader.known({ ...wanted, namespace }, (each) => groupOf(each.apiVersion) === groupOf(wanted.apiVersion))
  const same = objectsOf(kind)
  const isMissing =
    reader.listState({ ...kind, namespace }) === 'complete' && !same.some(({ metadata }) => metadata.name === name)
  if (!isMissing) return []
  const near = nearest(
    name,
    same.map(({ metadata }) => metadata.name),
  )
  const others = kinds.filter((each) => each !== kind).flatMap(objectsOf)
  const found = [
    ...same.filter(({ metadata }) => near.includes(metadata.name)),
    ...others.filter(({ metadata }) => metadata.name === name),
  ]
  return found.map((each): Subject => subjectOf(each))
}
