import { kindNameOf } from '../../src/cluster/feed.ts'
import { explainUnknownKind, findKind, pluralOf } from '../../src/plan/kinds.ts'
import { rows } from '../kit/rows.ts'
import { resources } from './discovery.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function found(word: string): string | undefined {
  const resource = findKind(word, resources)
  return resource && `${kindNameOf(resource).apiVersion} ${resource.kind}`
}

it.each(rows<[string, string]>(data, 'findKind finds what kubectl means by'))(
  'findKind finds what kubectl means by %s',
  (word, expected) => {
    expect(found(word)).toBe(expected)
  },
)

it('findKind prefers core and built-in groups, which discovery lists first', () => {
  expect(found('events')).toBe('v1 Event')
  expect(found('ev')).toBe('v1 Event')
  expect(found('service')).toBe('v1 Service')
  expect(found('services.serving.knative.dev')).toBe('serving.knative.dev/v1 Service')
})

it('findKind prefers the version that discovery lists first, unless one is written', () => {
  expect(found('hpa')).toBe('autoscaling/v2 HorizontalPodAutoscaler')
  expect(found('hpa.autoscaling')).toBe('autoscaling/v2 HorizontalPodAutoscaler')
  expect(found('hpa.v1.autoscaling')).toBe('autoscaling/v1 HorizontalPodAutoscaler')
})

it('findKind accepts the start of a group', () => {
  expect(found('storageclass.storage')).toBe('storage.k8s.io/v1 StorageClass')
  expect(found('events.events')).toBe('events.k8s.io/v1 Event')
})

it('findKind prefers a full name to a short name', () => {
  expect(found('deployment')).toBe('apps/v1 Deployment')
  expect(found('deployment.odd.example.com')).toBe('odd.example.com/v1 OddThing')
})

it.each(['', '.', '..', '...', 'deploymnt', 'deployment.batch', 'pods/status', 'deployments.v9.apps', 'all'])(
  'findKind finds nothing for %j',
  (word) => {
    expect(found(word)).toBeUndefined()
  },
)

it.each([
  ['deploymnt', 'Did you mean deployment.apps?'],
  ['deplyo', 'Did you mean deployment.apps?'],
  ['statefullset', 'Did you mean statefulset.apps?'],
  ['deployment.extensions', 'Did you mean deployment.apps?'],
  ['certificat.cert-manager.io', 'Did you mean certificate.cert-manager.io?'],
  ['svcs', 'Did you mean service'],
])('explainUnknownKind names the nearest kind for %s', (word, hint) => {
  expect(explainUnknownKind(word, resources)).toContain(hint)
})

it('explainUnknownKind suggests nothing when no kind is similar', () => {
  expect(explainUnknownKind('frobnicator', resources)).toBe(
    'The server has no kind "frobnicator". "kubectl api-resources" lists all kinds; a custom kind exists once its CustomResourceDefinition is applied.',
  )
})

it('explainUnknownKind explains why a category is refused', () => {
  expect(explainUnknownKind('all', resources)).toBe(
    '"all" is a category of many kinds. Name the kinds: deploy,sts --all.',
  )
})

it.each([
  ['Pod', 'Pods'],
  ['StorageClass', 'StorageClasses'],
  ['NetworkPolicy', 'NetworkPolicies'],
  ['Gateway', 'Gateways'],
])('the plural of %s is %s', (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural)
})
