import { agones, agonesAutoscaling } from '../../../../src/lifecycle/custom/catalogue/agones.ts'
import { type SampleObject, testEntries } from './cases.ts'

const fleet = (kind: string, replicas: number, counts: object): SampleObject => ({
  apiVersion: 'agones.dev/v1',
  kind,
  spec: { replicas, template: {} },
  status: { replicas, readyReplicas: 0, reservedReplicas: 0, allocatedReplicas: 0, ...counts },
})

const gameServer = (state: string): SampleObject => ({
  apiVersion: 'agones.dev/v1',
  kind: 'GameServer',
  spec: { template: {} },
  status: { state, nodeName: 'n1' },
})

testEntries(agones, [
  ...['Fleet', 'GameServerSet'].flatMap(
    (kind) =>
      [
        [
          `a ${kind} whose game servers are all ready is ready`,
          fleet(kind, 3, { readyReplicas: 3 }),
          { verdict: 'ready' },
        ],
        [
          `a ${kind} whose game servers are ready or in use is ready`,
          fleet(kind, 4, { readyReplicas: 1, allocatedReplicas: 2, reservedReplicas: 1 }),
          { verdict: 'ready' },
        ],
        [
          `a ${kind} whose game servers in use exceed its replicas is ready`,
          fleet(kind, 1, { replicas: 2, allocatedReplicas: 2 }),
          { verdict: 'ready' },
        ],
        [`a ${kind} of no game server is ready`, fleet(kind, 0, {}), { verdict: 'ready' }],
        [
          `a ${kind} with a game server that starts progresses`,
          fleet(kind, 3, { replicas: 4, readyReplicas: 3 }),
          { verdict: 'progressing' },
        ],
        [
          `a ${kind} with too few game servers progresses`,
          fleet(kind, 3, { replicas: 1, readyReplicas: 1 }),
          { verdict: 'progressing' },
        ],
      ] as const,
  ),
  ['a GameServer that is ready is ready', gameServer('Ready'), { verdict: 'ready' }],
  ['a GameServer in use is ready', gameServer('Allocated'), { verdict: 'ready' }],
  ['a GameServer that starts progresses', gameServer('Scheduled'), { verdict: 'progressing' }],
  ['a GameServer that shuts down progresses', gameServer('Shutdown'), { verdict: 'progressing' }],
  ['a GameServer in error has failed', gameServer('Error'), { verdict: 'failed' }],
])

const autoscaler = (ableToScale: boolean): SampleObject => ({
  apiVersion: 'autoscaling.agones.dev/v1',
  kind: 'FleetAutoscaler',
  spec: { fleetName: 'arena', policy: { type: 'Buffer' } },
  status: { currentReplicas: 3, desiredReplicas: 3, ableToScale, scalingLimited: false },
})

testEntries(agonesAutoscaling, [
  ['a FleetAutoscaler that can scale its fleet is ready', autoscaler(true), { verdict: 'ready' }],
  ['a FleetAutoscaler without its fleet progresses', autoscaler(false), { verdict: 'progressing' }],
])
