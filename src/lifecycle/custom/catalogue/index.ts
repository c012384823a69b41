import { groupOf } from '../../../cluster/store.ts'
import { loadCompiler } from '../../../plan/expressions.ts'
import { type CatalogueEntry, type CatalogueGroup, compileEntry, type OperatorCheck } from './entry.ts'

interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/**
 * The API groups of the catalogue, and the file of each: one that exports its `CatalogueGroup`, under any name. `*.` stands
 * for every group with the suffix that follows. In the order of the files.
 */
const files: Readonly<Record<string, () => Promise<Readonly<Record<string, CatalogueGroup>>>>> = {
  'argoproj.io': () => import('./argo.ts'),
  'batch.volcano.sh': () => import('./batch.ts'),
  'flow.volcano.sh': () => import('./batch.ts'),
  'jobset.x-k8s.io': () => import('./batch.ts'),
  'kueue.x-k8s.io': () => import('./batch.ts'),
  'leaderworkerset.x-k8s.io': () => import('./batch.ts'),
  'ray.io': () => import('./batch.ts'),
  'scheduling.volcano.sh': () => import('./batch.ts'),
  'sparkoperator.k8s.io': () => import('./batch.ts'),
  'cassandra.datastax.com': () => import('./cassandra.ts'),
  'control.k8ssandra.io': () => import('./cassandra.ts'),
  'k8ssandra.io': () => import('./cassandra.ts'),
  'scylla.scylladb.com': () => import('./cassandra.ts'),
  'acme.cert-manager.io': () => import('./cert-manager.ts'),
  'cert-manager.io': () => import('./cert-manager.ts'),
  '*.azure.com': () => import('./cloud-resources.ts'),
  '*.cnrm.cloud.google.com': () => import('./cloud-resources.ts'),
  'core.cnrm.cloud.google.com': () => import('./cloud-resources.ts'),
  '*.services.k8s.aws': () => import('./cloud-resources.ts'),
  'services.k8s.aws': () => import('./cloud-resources.ts'),
  'bootstrap.cluster.x-k8s.io': () => import('./cluster-api.ts'),
  'cluster.x-k8s.io': () => import('./cluster-api.ts'),
  'controlplane.cluster.x-k8s.io': () => import('./cluster-api.ts'),
  'infrastructure.cluster.x-k8s.io': () => import('./cluster-api.ts'),
  'apiextensions.crossplane.io': () => import('./crossplane.ts'),
  '*.crossplane.io': () => import('./crossplane.ts'),
  'ops.crossplane.io': () => import('./crossplane.ts'),
  'pkg.crossplane.io': () => import('./crossplane.ts'),
  '*.upbound.io': () => import('./crossplane.ts'),
  'apps.kubeblocks.io': () => import('./databases.ts'),
  'clickhouse-keeper.altinity.com': () => import('./databases.ts'),
  'clickhouse.altinity.com': () => import('./databases.ts'),
  'crdb.cockroachlabs.com': () => import('./databases.ts'),
  'dataprotection.kubeblocks.io': () => import('./databases.ts'),
  'operations.kubeblocks.io': () => import('./databases.ts'),
  'pingcap.com': () => import('./databases.ts'),
  'agent.k8s.elastic.co': () => import('./elastic.ts'),
  'apm.k8s.elastic.co': () => import('./elastic.ts'),
  'beat.k8s.elastic.co': () => import('./elastic.ts'),
  'elasticsearch.k8s.elastic.co': () => import('./elastic.ts'),
  'enterprisesearch.k8s.elastic.co': () => import('./elastic.ts'),
  'kibana.k8s.elastic.co': () => import('./elastic.ts'),
  'logstash.k8s.elastic.co': () => import('./elastic.ts'),
  'maps.k8s.elastic.co': () => import('./elastic.ts'),
  'stackconfigpolicy.k8s.elastic.co': () => import('./elastic.ts'),
  'flagger.app': () => import('./flagger.ts'),
  'flink.apache.org': () => import('./flink.ts'),
  'helm.toolkit.fluxcd.io': () => import('./flux.ts'),
  'image.toolkit.fluxcd.io': () => import('./flux.ts'),
  'kustomize.toolkit.fluxcd.io': () => import('./flux.ts'),
  'notification.toolkit.fluxcd.io': () => import('./flux.ts'),
  'source.toolkit.fluxcd.io': () => import('./flux.ts'),
  'k8s.keycloak.org': () => import('./keycloak.ts'),
  'eventing.knative.dev': () => import('./knative.ts'),
  'flows.knative.dev': () => import('./knative.ts'),
  'messaging.knative.dev': () => import('./knative.ts'),
  'serving.knative.dev': () => import('./knative.ts'),
  'sources.knative.dev': () => import('./knative.ts'),
  'serving.kserve.io': () => import('./kserve.ts'),
  'apps.kruise.io': () => import('./kruise.ts'),
  'rollouts.kruise.io': () => import('./kruise.ts'),
  'cdi.kubevirt.io': () => import('./kubevirt.ts'),
  'kubevirt.io': () => import('./kubevirt.ts'),
  'pool.kubevirt.io': () => import('./kubevirt.ts'),
  'longhorn.io': () => import('./longhorn.ts'),
  'mongodb.com': () => import('./mongodb.ts'),
  'mongodbcommunity.mongodb.com': () => import('./mongodb.ts'),
  'k8s.mariadb.com': () => import('./mysql.ts'),
  'mysql.oracle.com': () => import('./mysql.ts'),
  'mysql.presslabs.org': () => import('./mysql.ts'),
  'jetstream.nats.io': () => import('./nats.ts'),
  'grafana.integreatly.org': () => import('./observability.ts'),
  'jaegertracing.io': () => import('./observability.ts'),
  'loki.grafana.com': () => import('./observability.ts'),
  'opentelemetry.io': () => import('./observability.ts'),
  'tempo.grafana.com': () => import('./observability.ts'),
  'opensearch.opster.io': () => import('./opensearch.ts'),
  'opensearch.org': () => import('./opensearch.ts'),
  'apps.openshift.io': () => import('./openshift.ts'),
  'build.openshift.io': () => import('./openshift.ts'),
  'config.openshift.io': () => import('./openshift.ts'),
  'machineconfiguration.openshift.io': () => import('./openshift.ts'),
  'operators.coreos.com': () => import('./openshift.ts'),
  'route.openshift.io': () => import('./openshift.ts'),
  'pgv2.percona.com': () => import('./percona.ts'),
  'ps.percona.com': () => import('./percona.ts'),
  'psmdb.percona.com': () => import('./percona.ts'),
  'pxc.percona.com': () => import('./percona.ts'),
  'constraints.gatekeeper.sh': () => import('./policies.ts'),
  'kyverno.io': () => import('./policies.ts'),
  'mutations.gatekeeper.sh': () => import('./policies.ts'),
  'policies.kyverno.io': () => import('./policies.ts'),
  'templates.gatekeeper.sh': () => import('./policies.ts'),
  'acid.zalan.do': () => import('./postgres.ts'),
  'postgres-operator.crunchydata.com': () => import('./postgres.ts'),
  'postgresql.cnpg.io': () => import('./postgres.ts'),
  'monitoring.coreos.com': () => import('./prometheus.ts'),
  'rabbitmq.com': () => import('./rabbitmq.ts'),
  'app.redislabs.com': () => import('./redis.ts'),
  'databases.spotahome.com': () => import('./redis.ts'),
  'redis.redis.opstreelabs.in': () => import('./redis.ts'),
  'ceph.rook.io': () => import('./rook.ts'),
  'karpenter.k8s.aws': () => import('./scaling.ts'),
  'karpenter.sh': () => import('./scaling.ts'),
  'keda.sh': () => import('./scaling.ts'),
  'bitnami.com': () => import('./secrets.ts'),
  'external-secrets.io': () => import('./secrets.ts'),
  'generators.external-secrets.io': () => import('./secrets.ts'),
  'groupsnapshot.storage.k8s.io': () => import('./storage.ts'),
  'minio.min.io': () => import('./storage.ts'),
  'snapshot.storage.k8s.io': () => import('./storage.ts'),
  'core.strimzi.io': () => import('./strimzi.ts'),
  'kafka.strimzi.io': () => import('./strimzi.ts'),
  'tekton.dev': () => import('./tekton.ts'),
  'triggers.tekton.dev': () => import('./tekton.ts'),
  'cilium.io': () => import('./traffic.ts'),
  'extensions.istio.io': () => import('./traffic.ts'),
  'gateway.envoyproxy.io': () => import('./traffic.ts'),
  'gateway.networking.k8s.io': () => import('./traffic.ts'),
  'gateway.networking.x-k8s.io': () => import('./traffic.ts'),
  'install.istio.io': () => import('./traffic.ts'),
  'metallb.io': () => import('./traffic.ts'),
  'networking.istio.io': () => import('./traffic.ts'),
  'projectcontour.io': () => import('./traffic.ts'),
  'sailoperator.io': () => import('./traffic.ts'),
  'security.istio.io': () => import('./traffic.ts'),
  'telemetry.istio.io': () => import('./traffic.ts'),
  'traefik.containo.us': () => import('./traffic.ts'),
  'traefik.io': () => import('./traffic.ts'),
  'secrets.hashicorp.com': () => import('./vault.ts'),
  'vault.banzaicloud.com': () => import('./vault.ts'),
  'velero.io': () => import('./velero.ts'),
}

/** All groups of the catalogue, for the documentation and the tests. */
export function loadAllGroups(): Promise<readonly CatalogueGroup[]> {
  return Promise.all(Object.keys(files).map(loadGroup))
}

/**
 * The entries of these kinds; kinds without an entry are omitted. Reads only the files of these groups, and compiles no
 * CEL.
 */
export async function findEntries<Kind extends KindName>(
  kinds: readonly Kind[],
): Promise<readonly { readonly kind: Kind; readonly entry: CatalogueEntry }[]> {
  const distinct = [...new Map(kinds.map((kind) => [`${groupOf(kind.apiVersion)} ${kind.kind}`, kind])).values()]
  const found = await Promise.all(
    distinct.map(async (kind) => {
      const key = fileKey(groupOf(kind.apiVersion))
      const { entries = [] } = key === undefined ? {} : await loadGroup(key)
      const entry = entries.find((each) => each.kind === kind.kind) ?? entries.find((each) => each.kind === '*')
      return entry === undefined ? [] : [{ kind, entry }]
    }),
  )
  return found.flat()
}

/**
 * The entries of these kinds and of those that they own or await, with compiled expressions. The CEL library is loaded only if there
 * is an entry.
 */
export async function loadCatalogue(kinds: readonly KindName[]): Promise<readonly OperatorCheck[]> {
  const behind = (await findEntries(kinds)).flatMap(({ entry: { owns = [], awaits } }) => [
    ...owns,
    ...(awaits ? [awaits] : []),
  ])
  const found = await findEntries([...kinds, ...behind])
  if (found.length === 0) return []
  const compiler = await loadCompiler()
  return found.map(({ kind, entry }) => compileEntry(entry, kind, compiler))
}

/** The key of `files` for an API group: its name, else the longest suffix. */
function fileKey(group: string): string | undefined {
  if (Object.hasOwn(files, group)) return group
  const suffixes = Object.keys(files).filter((key) => key.startsWith('*.') && group.endsWith(key.slice(1)))
  return suffixes.sort((a, b) => b.length - a.length)[0]
}

async function loadGroup(key: string): Promise<CatalogueGroup> {
  const exported = Object.values((await files[key]?.()) ?? {})
  const group = exported.find((each) => each.group === key)
  if (group === undefined) throw new Error(`The file of ${key} exports no group with this name.`)
  return group
}
