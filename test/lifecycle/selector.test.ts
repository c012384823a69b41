import type { LabelSelector } from '../../src/cluster/objects.ts'
import { formatSelector, podRequest } from '../../src/lifecycle/selector.ts'
import { make } from '../kit/objects.ts'

describe('a selector in the form of the API', () => {
  it.each<[string, LabelSelector | Record<string, string> | undefined, string]>([
    ['labels', { matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
    ['a bare map of labels', { app: 'web', tier: 'front' }, 'app=web,tier=front'],
    ['an empty value', { matchLabels: { app: '' } }, 'app='],
    [
      'expressions',
      {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'env', operator: 'In', values: ['a', 'b'] },
          { key: 'zone', operator: 'NotIn', values: ['c'] },
          { key: 'canary', operator: 'Exists' },
          { key: 'debug', operator: 'DoesNotExist' },
        ],
      },
      '!debug,app=web,canary,env in (a,b),zone notin (c)',
    ],
    ['nothing, which selects everything', {}, ''],
    ['no selector', undefined, ''],
  ])('%s', (_, selector, formatted) => {
    expect(formatSelector(selector)).toBe(formatted)
  })

  it('is used in the namespace of its workload', () => {
    expect(podRequest(make.deployment())).toMatchObject({ kind: 'Pod', namespace: 'shop', labelSelector: 'app=web' })
  })

  it('is used without a namespace where the workload has none', () => {
    const { namespace: _, ...metadata } = make.deployment().metadata
    expect(podRequest({ ...make.deployment(), metadata }).namespace).toBeUndefined()
  })
})
