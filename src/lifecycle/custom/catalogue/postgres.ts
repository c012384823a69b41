import { type CatalogueGroup, deployments, jobs, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isAnnotated, isFalse, isTrue, messageOf } from './expressions.ts'

const cnpgSource = 'https://github.com/cloudnative-pg/cloudnative-pg/blob/main'
const zalandoSource = 'https://github.com/zalando/postgres-operator/blob/master'
const crunchySource = 'https://github.com/CrunchyData/postgres-operator/blob/main'

/** An object inside a database. Its generation is observed once it is applied; a failure is retried after 30 s. */
const cnpgObject = {
  documentation: `${cnpgSource}/internal/management/controller/database_controller.go`,
  current: `status.applied == true`,
  cause: [`status.message`],
}

/** CloudNativePG. */
export const cloudNativePg: CatalogueGroup = {
  group: 'postgresql.cnpg.io',
  entries: [
    {
      kind: 'Cluster',
      documentation: `${cnpgSource}/internal/controller/cluster_controller.go`,
      // The status has no observedGeneration. A new image and a new number of instances show whether it is old.
      current: allOf(
        `status.phase == 'Cluster in healthy state'`,
        `status.readyInstances >= spec.instances`,
        `!has(spec.imageName) || status.?image.orValue(spec.imageName) == spec.imageName`,
      ),
      // A failed Job that creates an instance, volumes that are gone, a token that does not fit: other causes of this phase
      // are retried.
      failed: anyOf(
        `status.phase == 'Invalid cluster definition'`,
        `status.phase.startsWith('Cluster is unrecoverable') && status.phaseReason.matches('jobs|no Persistent|token')`,
        `status.phase.endsWith('due to missing architecture binary')`,
      ),
      suspended: anyOf(
        isAnnotated('cnpg.io/hibernation', 'on'),
        isAnnotated('cnpg.io/reconciliationLoop', 'disabled'),
        `status.phase == 'Waiting for user action'`,
      ),
      cause: [`status.phase + ': ' + status.phaseReason`, `status.phase`],
      owns: [pods, jobs],
      isWorkload: true,
    },
    {
      kind: 'Pooler',
      documentation: `${cnpgSource}/internal/controller/pooler_status.go`,
      // Operators before 1.28 write no phase.
      current: allOf(`status.instances == spec.?instances.orValue(1)`, `status.?phase.orValue('active') == 'active'`),
      suspended: `spec.pgbouncer.paused`,
      cause: [`status.phaseReason`, `status.error`],
      owns: [deployments],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'Backup',
      documentation: `${cnpgSource}/api/v1/backup_types.go`,
      current: `status.phase == 'completed'`,
      failed: `status.phase in ['failed', 'invalid backup definition']`,
      cause: [`status.error`, `status.commandError`],
    },
    { kind: 'Database', ...cnpgObject },
    { kind: 'Publication', ...cnpgObject },
    { kind: 'Subscription', ...cnpgObject },
    { kind: 'DatabaseRole', ...cnpgObject },
  ],
}

/** The Postgres operator of Zalando. */
export const zalandoPostgres: CatalogueGroup = {
  group: 'acid.zalan.do',
  entries: [
    {
      kind: 'postgresql',
      documentation: `${zalandoSource}/pkg/cluster/cluster.go`,
      current: `status.PostgresClusterStatus == 'Running'`,
      // The operator repairs other failures: CreateFailed, UpdateFailed, SyncFailed (pkg/controller/postgresql.go).
      failed: `status.PostgresClusterStatus == 'Invalid'`,
      owns: [statefulSets, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
  ],
}

/** Crunchy Postgres for Kubernetes. */
export const crunchyPostgres: CatalogueGroup = {
  group: 'postgres-operator.crunchydata.com',
  entries: [
    {
      kind: 'PostgresCluster',
      documentation: `${crunchySource}/internal/controller/postgrescluster/instance.go`,
      // A single instance set may have no name: the operator names it 00.
      current: anyOf(
        `spec.shutdown && has(status.observedGeneration)`,
        `spec.instances.all(s, status.instances.exists(i, i.name == s.?name.orValue('00')
          && i.readyReplicas >= s.?replicas.orValue(1) && i.updatedReplicas >= s.?replicas.orValue(1)))`,
      ),
      inProgress: anyOf(
        isFalse('PGBackRestRepoHostReady'),
        isFalse('ProxyAvailable'),
        `status.proxy.pgBouncer.readyReplicas < status.proxy.pgBouncer.replicas`,
      ),
      suspended: anyOf(`spec.paused`, isFalse('Progressing', 'Paused')),
      cause: [messageOf('Progressing'), messageOf('PGBackRestRepoHostReady'), messageOf('ProxyAvailable')],
      owns: [statefulSets, deployments, jobs, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'PGUpgrade',
      documentation: `${crunchySource}/internal/controller/pgupgrade/pgupgrade_controller.go`,
      // Resolved: the cluster has this version already.
      current: anyOf(isTrue('Succeeded'), isFalse('Progressing', 'PGUpgradeResolved')),
      failed: isFalse('Succeeded', 'PGUpgradeFailed'),
      cause: [messageOf('Succeeded'), messageOf('Progressing')],
      owns: [jobs],
    },
  ],
}
