import { type CatalogueGroup, daemonSets, deployments, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isAnnotated, messageOf } from './expressions.ts'

const source = 'https://github.com/elastic/cloud-on-k8s/blob/main/pkg'

const paused = anyOf(
  isAnnotated('eck.k8s.elastic.co/managed', 'false'),
  isAnnotated('common.k8s.elastic.co/pause', 'true'),
  isAnnotated('eck.k8s.elastic.co/pause-orchestration', 'true'),
)

/** No association of the object, to Elasticsearch or Kibana, is pending or failed. */
const isAssociated = allOf(
  ...['associationStatus', 'elasticsearchAssociationStatus', 'kibanaAssociationStatus'].map(
    (field) => `status.?${field}.orValue('Established') in ['', 'Established']`,
  ),
)

/** A Deployment. Its health is the condition Available, which a rolling update does not change: the numbers of pods do. */
const deployment = {
  documentation: `${source}/controller/common/status.go`,
  current: allOf(
    `status.health == 'green'`,
    `status.?availableNodes.orValue(0) == spec.?count.orValue(0)`,
    `status.?count.orValue(spec.?count.orValue(0)) == spec.?count.orValue(0)`,
    isAssociated,
  ),
  suspended: paused,
  owns: [deployments, pods],
  isWorkload: true,
  awaitsWorkloads: true,
} as const

/** A Deployment, DaemonSet or StatefulSet with its number of expected pods. */
const nodes = (documentation: string) =>
  ({
    documentation: `${source}/${documentation}`,
    current: `status.health == 'green' && status.?availableNodes.orValue(0) == status.?expectedNodes.orValue(0)`,
    suspended: paused,
    owns: [daemonSets, deployments, statefulSets, pods],
    isWorkload: true,
    awaitsWorkloads: true,
  }) as const

/** Elastic Cloud on Kubernetes: Elasticsearch. */
export const elasticsearch: CatalogueGroup = {
  group: 'elasticsearch.k8s.elastic.co',
  entries: [
    {
      kind: 'Elasticsearch',
      documentation: `${source}/apis/elasticsearch/v1/status.go`,
      // A single node stays yellow: the replicas of its shards have no other node.
      current: allOf(
        `status.phase == 'Ready'`,
        `status.health == 'green' || (status.health == 'yellow' && status.availableNodes == 1)`,
        `status.?availableNodes.orValue(0) == spec.nodeSets.map(n, n.?count.orValue(0)).sum()`,
      ),
      // Red may end: the health is read every 10 s, and may be that of a node that has just restarted.
      failed: `status.phase == 'Invalid'`,
      suspended: paused,
      cause: [messageOf('ReconciliationComplete'), messageOf('ElasticsearchIsReachable')],
      owns: [statefulSets, pods],
      isWorkload: true,
    },
  ],
}

/** Elastic Cloud on Kubernetes: Kibana. */
export const kibana: CatalogueGroup = {
  group: 'kibana.k8s.elastic.co',
  entries: [{ kind: 'Kibana', ...deployment }],
}

/** Elastic Cloud on Kubernetes: APM Server. */
export const apmServer: CatalogueGroup = {
  group: 'apm.k8s.elastic.co',
  entries: [{ kind: 'ApmServer', ...deployment }],
}

/** Elastic Cloud on Kubernetes: Enterprise Search. */
export const enterpriseSearch: CatalogueGroup = {
  group: 'enterprisesearch.k8s.elastic.co',
  entries: [{ kind: 'EnterpriseSearch', ...deployment }],
}

/** Elastic Cloud on Kubernetes: Elastic Maps Server. */
export const elasticMaps: CatalogueGroup = {
  group: 'maps.k8s.elastic.co',
  entries: [{ kind: 'ElasticMapsServer', ...deployment }],
}

/** Elastic Cloud on Kubernetes: Beats. */
export const beats: CatalogueGroup = {
  group: 'beat.k8s.elastic.co',
  entries: [{ kind: 'Beat', ...nodes('controller/beat/common/reconcile.go') }],
}

/** Elastic Cloud on Kubernetes: Elastic Agent. */
export const elasticAgent: CatalogueGroup = {
  group: 'agent.k8s.elastic.co',
  entries: [{ kind: 'Agent', ...nodes('controller/agent/reconcile.go') }],
}

/** Elastic Cloud on Kubernetes: Logstash. */
export const logstash: CatalogueGroup = {
  group: 'logstash.k8s.elastic.co',
  entries: [{ kind: 'Logstash', ...nodes('controller/logstash/reconcile.go') }],
}

/** Elastic Cloud on Kubernetes: policies for several clusters. */
export const stackConfigPolicy: CatalogueGroup = {
  group: 'stackconfigpolicy.k8s.elastic.co',
  entries: [
    {
      kind: 'StackConfigPolicy',
      documentation: `${source}/apis/stackconfigpolicy/v1alpha1/stackconfigpolicy_types.go`,
      current: `status.phase == 'Ready'`,
      // A conflict ends when the other policy changes.
      failed: `status.phase == 'Invalid'`,
      cause: [
        `status.details.map(type, status.details[type].filter(name, has(status.details[type][name].error.message))
          .map(name, status.details[type][name].error.message)).filter(found, found.size() > 0).map(found, found[0])`,
      ],
    },
  ],
}
