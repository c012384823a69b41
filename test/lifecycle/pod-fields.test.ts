import type { EventObject, Pod } from '../../src/cluster/objects.ts'
import { containersOf, eventCount } from '../../src/lifecycle/workloads/pod-fields.ts'
import { make } from '../kit/objects.ts'

describe('the containers of a pod', () => {
  const names = (pod: Pod) =>
    containersOf(pod).map(({ container, isInit, runsOnce }) => [container.name, isInit, runsOnce])

  it('are init containers, sidecars or other containers', () => {
    const spec = {
      initContainers: [make.container({ name: 'migrate' }), make.container({ name: 'proxy', restartPolicy: 'Always' })],
    }
    expect(names(make.pod({ spec }))).toEqual([
      ['migrate', true, true],
      ['proxy', false, false],
      ['app', false, false],
    ])
  })

  it('may end, except sidecars, if the restart policy is not Always', () => {
    const spec = {
      restartPolicy: 'Never',
      initContainers: [make.container({ name: 'proxy', restartPolicy: 'Always' })],
    }
    expect(names(make.pod({ spec }))).toEqual([
      ['proxy', false, false],
      ['app', false, true],
    ])
  })

  // https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy-for-individual-containers
  it('may end if their own restart policy overrides the policy of the pod', () => {
    const containers = [
      make.container({ restartPolicy: 'OnFailure' }),
      make.container({ name: 'server', restartPolicy: 'Always' }),
    ]
    expect(names(make.pod({ spec: { containers } }))).toEqual([
      ['app', false, true],
      ['server', false, false],
    ])
  })

  it('have the status with their own name', () => {
    const status = { containerStatuses: [make.containerStatus({ name: 'other' }), make.containerStatus()] }
    expect(containersOf(make.pod({ status })).map((at) => at.status?.name)).toEqual(['app'])
  })
})

test.each([
  ['without a count counts once', 1, {}],
  ['counts as often as its count', 4, { count: 4 }],
  ['counts as often as its series', 6, { series: { count: 6 } }],
  ['with the count 0 counts once', 1, { count: 0, series: null }],
])('an event %s', (_title, count, fields: object) => {
  const { count: _, ...event } = make.event(make.pod(), { reason: 'Failed' })
  expect(eventCount({ ...event, ...fields } as EventObject)).toBe(count)
})
