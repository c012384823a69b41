import type { LabelSelector } from '../../src/cluster/objects.ts'
import { formatSelector, podRequest } from '../../src/lifecycle/selector.ts'
import { make } from '../kit/objects.ts'

describe('a label selector', () => {
  it.each<[string, LabelSelector | Record<string, string> | undefined, string]>([
    ['is written with its labels in alphabetical order', { matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
    ['is written from a plain map of labels', { app: 'web', tier: 'front' }, 'app=web,tier=front'],
    ['is written with an empty value', { matchLabels: { app: '' } }, 'app='],
    [
      'is written with its expressions',
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
    ['is written as an empty text if it selects everything', {}, ''],
    ['is written as an empty text if it is missing', undefined, ''],
  ])('%s', (_, selector, formatted) => {
    expect(formatSelector(selector)).toBe(formatted)
  })

  it('selects the pods in the namespace of its workload', () => {
    expect(podRequest(make.deployment())).toMatchObject({ kind: 'Pod', namespace: 'shop', labelSelector: 'app=web' })
  })

  it('selects pods without a namespace if the workload has none', () => {
    const { namespace: _, ...metadata } = make.deployment().metadata
    expect(podRequest({ ...make.deployment(), metadata }).namespace).toBeUndefined()
  })
})
