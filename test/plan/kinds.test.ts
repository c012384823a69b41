import { kindNameOf } from '../../src/cluster/feed.ts'
import { explainUnknownKind, findKind, pluralOf } from '../../src/plan/kinds.ts'
import { rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { resources } from './discovery.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function found(word: string): string | undefined {
  const resource = findKind(word, resources)
  return resource && `${kindNameOf(resource).apiVersion} ${resource.kind}`
}

it.each(rows<[string, string]>(data, 'findKind finds what kubectl means by'))(
  'findKind resolves %s to the same kind as kubectl',
  (word, expected) => {
    expect(found(word)).toBe(expected)
  },
)

it.each(['', '.', '..', '...', 'deploymnt', 'deployment.batch', 'pods/status', 'deployments.v9.apps', 'all'])(
  'findKind finds no kind for %j',
  (word) => {
    expect(found(word)).toBeUndefined()
  },
)

it.each(rows<[string, string]>(data, 'explainUnknownKind explains'))(
  'explainUnknownKind explains the unknown kind %s',
  (word, explanation) => {
    expect(explainUnknownKind(word, resources)).toMatch(toPattern(explanation))
  },
)

it.each([
  ['Pod', 'Pods'],
  ['StorageClass', 'StorageClasses'],
  ['NetworkPolicy', 'NetworkPolicies'],
  ['Gateway', 'Gateways'],
])('the plural of %s is %s', (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural)
})
