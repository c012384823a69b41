import { type CatalogueEntry, type CatalogueGroup, deployments, pods } from './entry.ts'
import { anyOf, hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

const serving = 'https://github.com/knative/serving/blob/main/pkg/apis/serving/v1'
const eventing = 'https://github.com/knative/eventing/blob/main/pkg/apis'

const revisions = { apiVersion: 'serving.knative.dev/v1', kind: 'Revision' } as const

/**
 * Ready is recomputed for each generation: Unknown while a change is rolled out, False for any error. Most errors may
 * end: a container may recover, a node may join. The registry's answer that it has no such image is one that lasts, and so
 * is a Deployment that has exceeded its deadline.
 */
const neverStarts = hasCondition(
  'Ready',
  "c.status == 'False'",
  "(c.reason == 'ProgressDeadlineExceeded' || c.message.contains('MANIFEST_UNKNOWN') || c.message.contains('Initial scale was never achieved'))",
)
/**
 * Another revision has the name that the Service gives to its own; a change of the Service names another one. NotOwned is
 * retried: the object with the name, such as the Route of a deleted Service, may be deleted.
 */
const isNameTaken = isFalse('Ready', 'RevisionNameTaken')

/** A gradual rollout (`rolloutDuration`) takes its time. */
const isRollingOut = (type: string) => hasCondition(type, "c.status == 'Unknown'", "c.reason == 'RolloutInProgress'")

const service: CatalogueEntry = {
  kind: 'Service',
  documentation: `${serving}/service_lifecycle.go`,
  current: isTrue('Ready'),
  failed: anyOf(neverStarts, isNameTaken),
  stallHold: isRollingOut('RoutesReady'),
  cause: [messageOf('ConfigurationsReady'), messageOf('RoutesReady'), messageOf('Ready')],
  milestones: [
    { name: 'revision', done: isTrue('ConfigurationsReady') },
    { name: 'route', done: isTrue('RoutesReady') },
  ],
  owns: [
    { apiVersion: 'serving.knative.dev/v1', kind: 'Configuration' },
    revisions,
    { apiVersion: 'serving.knative.dev/v1', kind: 'Route' },
    deployments,
    pods,
  ],
}

const configuration: CatalogueEntry = {
  kind: 'Configuration',
  documentation: `${serving}/configuration_lifecycle.go`,
  current: isTrue('Ready'),
  failed: neverStarts,
  cause: [messageOf('Ready')],
  owns: [revisions, deployments, pods],
}

/** A revision that is scaled to zero is Ready; its condition Active is False. */
const revision: CatalogueEntry = {
  kind: 'Revision',
  documentation: `${serving}/revision_lifecycle.go`,
  current: isTrue('Ready'),
  failed: neverStarts,
  cause: [messageOf('ContainerHealthy'), messageOf('ResourcesAvailable')],
  owns: [deployments, pods],
}

/** A missing revision or configuration may be created later, and an object with the name of its own may be deleted. */
const route: CatalogueEntry = {
  kind: 'Route',
  documentation: `${serving}/route_lifecycle.go`,
  current: isTrue('Ready'),
  stallHold: isRollingOut('IngressReady'),
  cause: [messageOf('AllTrafficAssigned'), messageOf('CertificateProvisioned'), messageOf('IngressReady')],
}

const domainMapping: CatalogueEntry = {
  kind: 'DomainMapping',
  documentation: 'https://github.com/knative/serving/blob/main/pkg/apis/serving/v1beta1/domainmapping_lifecycle.go',
  current: isTrue('Ready'),
  cause: [messageOf('Ready')],
}

export const knativeServing: CatalogueGroup = {
  group: 'serving.knative.dev',
  entries: [service, configuration, revision, route, domainMapping],
}

/**
 * A kind of Eventing. Ready is False while an object that it refers to does not exist or is not ready, and becomes True
 * once that object is ready. Ready contains the message of the condition that is not True.
 */
function eventingEntry(kind: string, file: string, owns: CatalogueEntry['owns'] = []): CatalogueEntry {
  return { kind, documentation: `${eventing}/${file}`, current: isTrue('Ready'), cause: [messageOf('Ready')], owns }
}

/** A source with a Deployment of its own: Ready follows its condition Available, which stays True during an update. */
function deployedSource(kind: string, file: string): CatalogueEntry {
  return { ...eventingEntry(kind, file, [deployments, pods]), awaitsWorkloads: true }
}

const subscriptions = { apiVersion: 'messaging.knative.dev/v1', kind: 'Subscription' } as const
const channels = { apiVersion: 'messaging.knative.dev/v1', kind: 'InMemoryChannel' } as const

export const knativeEventing: CatalogueGroup = {
  group: 'eventing.knative.dev',
  entries: [
    eventingEntry('Broker', 'eventing/v1/broker_lifecycle.go', [channels]),
    eventingEntry('Trigger', 'eventing/v1/trigger_lifecycle.go', [subscriptions]),
  ],
}

export const knativeMessaging: CatalogueGroup = {
  group: 'messaging.knative.dev',
  entries: [
    eventingEntry('Channel', 'messaging/v1/channel_lifecycle.go', [channels]),
    eventingEntry('InMemoryChannel', 'messaging/v1/in_memory_channel_lifecycle.go'),
    eventingEntry('Subscription', 'messaging/v1/subscription_lifecycle.go'),
  ],
}

export const knativeFlows: CatalogueGroup = {
  group: 'flows.knative.dev',
  entries: [
    eventingEntry('Sequence', 'flows/v1/sequence_lifecycle.go', [channels, subscriptions]),
    eventingEntry('Parallel', 'flows/v1/parallel_lifecycle.go', [channels, subscriptions]),
  ],
}

export const knativeSources: CatalogueGroup = {
  group: 'sources.knative.dev',
  entries: [
    eventingEntry('PingSource', 'sources/v1/ping_lifecycle.go'),
    deployedSource('ApiServerSource', 'sources/v1/apiserver_lifecycle.go'),
    deployedSource('ContainerSource', 'sources/v1/container_lifecycle.go'),
    eventingEntry('SinkBinding', 'sources/v1/sinkbinding_lifecycle.go'),
  ],
}
