import { type CatalogueEntry, type CatalogueGroup, daemonSets, deployments, pods, statefulSets } from './entry.ts'

const source = 'https://github.com/VictoriaMetrics/operator/blob/master/internal/controller/operator'

const workloadKinds = [
  'VMSingle',
  'VMCluster',
  'VMAgent',
  'VMAlert',
  'VMAlertmanager',
  'VMAnomaly',
  'VMAuth',
  'VMDistributed',
  'VLogs',
  'VLSingle',
  'VLCluster',
  'VLAgent',
  'VLDistributed',
  'VTSingle',
  'VTCluster',
] as const

/**
 * A kind that the operator runs as pods. It writes `operational` from its cache, which may contain the Deployment
 * before the change. It retries after every failure, also of a crashed pod, except an object that it cannot parse.
 */
function workload(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/controllers.go`,
    current: `status.updateStatus == 'operational'`,
    failed: `status.updateStatus == 'failed' && status.reason.contains('parsing object error')`,
    suspended: `spec.paused == true || status.updateStatus == 'paused'`,
    resume: `kubectl patch ${kind.toLowerCase()} {name} -n {namespace} --type merge -p '{"spec":{"paused":false}}'`,
    cause: ['status.reason'],
    owns: [
      ...['VMCluster', 'VMAgent', 'VMAuth'].map((owned) => ({
        apiVersion: 'operator.victoriametrics.com/v1beta1',
        kind: owned,
      })),
      deployments,
      statefulSets,
      daemonSets,
      pods,
    ],
    isWorkload: true,
    awaitsWorkloads: true,
  }
}

/**
 * Configuration of a workload. Its status is written while a workload selects it. A failure that names a missing object is
 * repeated.
 */
function configuration(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/factory/reconcile/status.go`,
    inProgress: `status.updateStatus == 'failed' && status.reason.lowerAscii().matches('${isMissing}')`,
    failed: `status.updateStatus == 'failed'`,
    current: 'true',
    cause: ['status.reason'],
  }
}

const isMissing = 'not found|cannot (?:fetch|find|get)'

export const victoriaMetrics: CatalogueGroup = {
  group: 'operator.victoriametrics.com',
  entries: [
    ...workloadKinds.map(workload),
    ...[
      'VMRule',
      'VMServiceScrape',
      'VMPodScrape',
      'VMProbe',
      'VMNodeScrape',
      'VMStaticScrape',
      'VMScrapeConfig',
      'VMUser',
      'VMAlertmanagerConfig',
      'VMAnomalyConfig',
    ].map(configuration),
  ],
}
