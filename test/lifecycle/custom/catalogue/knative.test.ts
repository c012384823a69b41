import {
  knativeEventing,
  knativeFlows,
  knativeMessaging,
  knativeServing,
  knativeSources,
} from '../../../../src/lifecycle/custom/catalogue/knative.ts'
import { type EntryCase, testEntries } from './cases.ts'

const isTrue = (type: string) => ({ type, status: 'True' })
const isNot = (type: string, status: string, reason: string, message = '') => ({ type, status, reason, message })

const serving = (kind: string, conditions: readonly object[], observedGeneration = 2) => ({
  apiVersion: 'serving.knative.dev/v1',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: { observedGeneration, latestCreatedRevisionName: 'web-00002', conditions },
})
const ready = ['ConfigurationsReady', 'Ready', 'RoutesReady'].map(isTrue)
const failing = (message: string, reason = 'RevisionFailed') =>
  serving('Service', [
    isNot('ConfigurationsReady', 'False', reason, message),
    isNot('Ready', 'False', reason, message),
    isTrue('RoutesReady'),
  ])

testEntries(knativeServing, [
  ['a Service whose route has the latest revision is ready', serving('Service', ready), { verdict: 'ready' }],
  ['a Service whose older generation is ready progresses', serving('Service', ready, 1), { verdict: 'progressing' }],
  [
    'a Service whose revision is being deployed progresses',
    serving('Service', [
      isNot('ConfigurationsReady', 'Unknown', '', ''),
      isNot('Ready', 'Unknown', '', ''),
      isTrue('RoutesReady'),
    ]),
    { verdict: 'progressing', reached: ['observed', 'route'] },
  ],
  [
    'a Service whose traffic moves gradually stops the stall clock',
    serving('Service', [
      isTrue('ConfigurationsReady'),
      isNot('Ready', 'Unknown', 'RolloutInProgress', 'A gradual rollout of the latest revision(s) is in progress.'),
      isNot(
        'RoutesReady',
        'Unknown',
        'RolloutInProgress',
        'A gradual rollout of the latest revision(s) is in progress.',
      ),
    ]),
    { verdict: 'progressing', isHeld: true, reached: ['observed', 'revision'], mentions: 'A gradual rollout' },
  ],
  [
    'a Service whose container crashes progresses, since the container may recover',
    failing('Revision "web-00002" failed with message: Container failed with: panic.'),
    { verdict: 'progressing', isHeld: false, mentions: 'Container failed with: panic' },
  ],
  [
    'a Service whose pod finds no node progresses, since a node may join',
    failing('Revision "web-00002" failed with message: 0/3 nodes are available: 3 Insufficient cpu..'),
    { verdict: 'progressing', mentions: '3 Insufficient cpu' },
  ],
  [
    'a Service whose image does not exist has failed',
    failing(
      'Revision "web-00002" failed with message: Unable to fetch image "registry.test/web:v2": failed to resolve image to digest: MANIFEST_UNKNOWN: manifest unknown.',
    ),
    { verdict: 'failed', mentions: 'registry.test/web:v2' },
  ],
  [
    'a Service whose Route has another owner waits until that object is deleted',
    serving('Service', [
      isNot('Ready', 'False', 'NotOwned', 'There is an existing Route "web" that we do not own.'),
      isNot('RoutesReady', 'False', 'NotOwned', 'There is an existing Route "web" that we do not own.'),
    ]),
    { verdict: 'progressing', mentions: 'existing Route "web"' },
  ],
  [
    'a Service whose revision has the name of another one has failed',
    serving('Service', [isNot('Ready', 'False', 'RevisionNameTaken', 'The revision name "web-v1" is taken')]),
    { verdict: 'failed', mentions: '"web-v1" is taken' },
  ],
  [
    'a Configuration whose latest revision is ready is ready',
    serving('Configuration', [isTrue('Ready')]),
    { verdict: 'ready' },
  ],
  [
    'a Configuration whose image does not exist has failed',
    serving('Configuration', [isNot('Ready', 'False', 'RevisionFailed', 'Unable to fetch image: MANIFEST_UNKNOWN')]),
    { verdict: 'failed', mentions: 'MANIFEST_UNKNOWN' },
  ],
  [
    'a Revision that is scaled to zero is ready',
    serving('Revision', [
      isNot('Active', 'False', 'NoTraffic', 'The target is not receiving traffic.'),
      ...['ContainerHealthy', 'Ready', 'ResourcesAvailable'].map(isTrue),
    ]),
    { verdict: 'ready' },
  ],
  [
    'a Revision that exceeded its progress deadline has failed',
    serving('Revision', [
      isNot('Ready', 'False', 'ProgressDeadlineExceeded', 'Initial scale was never achieved'),
      isNot('ResourcesAvailable', 'False', 'ProgressDeadlineExceeded', 'Initial scale was never achieved'),
    ]),
    { verdict: 'failed', mentions: 'Initial scale was never achieved' },
  ],
  [
    'a Route to a missing revision progresses, since it may be created',
    serving('Route', [
      isNot('AllTrafficAssigned', 'False', 'RevisionMissing', 'Revision "web-7" referenced in traffic not found.'),
      isNot('Ready', 'False', 'RevisionMissing', 'Revision "web-7" referenced in traffic not found.'),
    ]),
    { verdict: 'progressing', mentions: 'Revision "web-7" referenced in traffic not found' },
  ],
  ['a Route that is Ready is ready', serving('Route', [isTrue('Ready')]), { verdict: 'ready' }],
  [
    'a Route whose placeholder Service has another owner waits until that object is deleted',
    serving('Route', [isNot('Ready', 'False', 'NotOwned', 'There is an existing placeholder Service "web"')]),
    { verdict: 'progressing', mentions: 'existing placeholder Service "web"' },
  ],
  [
    'a Route whose traffic moves gradually stops the stall clock',
    serving('Route', [
      isNot('IngressReady', 'Unknown', 'RolloutInProgress'),
      isNot('Ready', 'Unknown', 'RolloutInProgress'),
    ]),
    { verdict: 'progressing', isHeld: true },
  ],
  ['a DomainMapping that is Ready is ready', serving('DomainMapping', [isTrue('Ready')]), { verdict: 'ready' }],
])

const eventing = (group: string, kind: string, conditions: readonly object[], observedGeneration = 2) => ({
  ...serving(kind, conditions, observedGeneration),
  apiVersion: `${group}/v1`,
})

/** Kinds whose condition Ready is all that counts. */
const cases = (group: string, kinds: readonly string[]) =>
  kinds.flatMap((kind): readonly EntryCase[] => [
    [`a ${kind} that is Ready is ready`, eventing(group, kind, [isTrue('Ready')]), { verdict: 'ready' }],
    [
      `a ${kind} whose older generation is Ready progresses`,
      eventing(group, kind, [isTrue('Ready')], 1),
      { verdict: 'progressing' },
    ],
    [
      `a ${kind} that names something missing progresses, since it may be created`,
      eventing(group, kind, [isNot('Ready', 'False', 'NotFound', 'failed to get object shop/display')]),
      { verdict: 'progressing', mentions: 'failed to get object shop/display' },
    ],
  ])

testEntries(knativeEventing, cases('eventing.knative.dev', ['Broker', 'Trigger']))
testEntries(knativeMessaging, cases('messaging.knative.dev', ['Channel', 'InMemoryChannel', 'Subscription']))
testEntries(knativeFlows, cases('flows.knative.dev', ['Sequence', 'Parallel']))
testEntries(
  knativeSources,
  cases('sources.knative.dev', ['PingSource', 'ApiServerSource', 'ContainerSource', 'SinkBinding']),
)
