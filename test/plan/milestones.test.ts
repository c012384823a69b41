import { milestonesOf, parseMilestoneTimeouts } from '../../src/plan/milestones.ts'

describe('milestonesOf', () => {
  it.each([
    ['apps/v1', 'Deployment', 'created observed replicaset scheduled pulled started ready available drained'],
    ['apps/v1', 'StatefulSet', 'created observed scheduled pulled started ready updated'],
    ['apps/v1', 'DaemonSet', 'created observed scheduled pulled started ready updated'],
    ['apps/v1', 'ReplicaSet', 'created observed scheduled pulled started ready'],
    ['v1', 'ReplicationController', 'created observed scheduled pulled started ready'],
    ['v1', 'Pod', 'created scheduled initialized pulled started running ready'],
    ['batch/v1', 'Job', 'created started succeeded complete'],
    ['v1', 'Service', 'created endpoints ready address'],
    ['v1', 'PersistentVolumeClaim', 'created provisioned bound'],
    ['networking.k8s.io/v1', 'Ingress', 'created backends address'],
    ['cert-manager.io/v1', 'Certificate', 'created observed ready'],
    ['v1', 'constructor', 'created observed ready'],
  ])('of %s %s are the contract’s', (apiVersion, kind, names) => {
    expect(milestonesOf({ apiVersion, kind }).join(' ')).toBe(names)
  })

  it('are not those of a namesake in another group', () => {
    expect(milestonesOf({ apiVersion: 'serving.knative.dev/v1', kind: 'Service' })).toEqual([
      'created',
      'observed',
      'ready',
    ])
  })
})

describe('parseMilestoneTimeouts', () => {
  function parse(text: string) {
    const complaints: string[] = []
    return { timeouts: parseMilestoneTimeouts(text, (message) => complaints.push(message)), complaints }
  }

  it('reads pairs with commas or lines between them', () => {
    expect(parse(' scheduled = 2m, ready=5m,\n\r\nbound=0 ')).toEqual({
      timeouts: { scheduled: 120_000, ready: 300_000, bound: 0 },
      complaints: [],
    })
  })

  it('complains of every wrong pair and reads the others', () => {
    expect(parse('ready=5, =3s, pulled, __proto__=1s, started=1m, started=2m')).toEqual({
      timeouts: { started: 60_000 },
      complaints: [
        'ready: "5" has no unit. Write 5s for seconds or 5m for minutes.',
        '"=3s" is no milestone with its duration. Write milestone=duration, like ready=5m.',
        '"pulled" is no milestone with its duration. Write milestone=duration, like ready=5m.',
        'No kind has a milestone "__proto__".',
        'The milestone started is given twice. Keep one of them.',
      ],
    })
  })
})
