import type { CatalogueEntry, CatalogueGroup } from './entry.ts'
import { allOf, isTrue, messageOf } from './expressions.ts'

const kyvernoSource = 'https://github.com/kyverno/kyverno/blob/main'

/** Ready when the policy is in the webhook or in the background scan; the controllers retry until then. */
function kyvernoPolicy(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${kyvernoSource}/api/kyverno/v1/policy_status.go`,
    current: isTrue('Ready'),
    cause: [messageOf('Ready')],
  }
}

/** A cleanup policy has a status only after its first run; an exception has none. */
function kyvernoConfiguration(kind: string, file: string): CatalogueEntry {
  return { kind, documentation: `${kyvernoSource}/api/kyverno/v2/${file}`, current: 'true' }
}

export const kyverno: CatalogueGroup = {
  group: 'kyverno.io',
  entries: [
    kyvernoPolicy('ClusterPolicy'),
    kyvernoPolicy('Policy'),
    {
      ...kyvernoPolicy('GlobalContextEntry'),
      documentation: `${kyvernoSource}/api/kyverno/v2/global_context_entry_status.go`,
    },
    kyvernoConfiguration('ClusterCleanupPolicy', 'cleanup_policy_types.go'),
    kyvernoConfiguration('CleanupPolicy', 'cleanup_policy_types.go'),
    kyvernoConfiguration('PolicyException', 'policy_exception_types.go'),
  ],
}

/** The policies in CEL have their conditions one level deeper, and a summary beside them. */
function celPolicy(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${kyvernoSource}/pkg/controllers/policystatus/controller.go`,
    current: 'status.conditionStatus.ready',
    cause: [
      "status.conditionStatus.conditions.filter(c, c.status == 'False').map(c, c.message)",
      'status.conditionStatus.message',
    ],
  }
}

/** A deleting policy has a status only after its first run. */
function celConfiguration(kind: string): CatalogueEntry {
  return { kind, documentation: 'https://kyverno.io/docs/policy-types/deleting-policy/', current: 'true' }
}

export const kyvernoPolicies: CatalogueGroup = {
  group: 'policies.kyverno.io',
  entries: ['', 'Namespaced'].flatMap((scope) => [
    ...['ValidatingPolicy', 'ImageValidatingPolicy', 'MutatingPolicy', 'GeneratingPolicy'].map((kind) =>
      celPolicy(`${scope}${kind}`),
    ),
    celConfiguration(`${scope}DeletingPolicy`),
  ]),
}

const gatekeeperSource = 'https://github.com/open-policy-agent/gatekeeper/blob/master'

/** The first error of each pod of the webhook that has errors, as a list of texts. */
const podErrors = 'status.byPod.filter(p, size(p.?errors.orValue([])) > 0).map(p, p.errors[0].message)'
/** Every pod of Gatekeeper has read the present generation. */
const isReadByPods = allOf('size(status.byPod) > 0', 'status.byPod.all(p, p.observedGeneration >= metadata.generation)')
const hasNoErrors = 'status.byPod.all(p, size(p.?errors.orValue([])) == 0)'

/** Rego that does not compile does not compile later. `created` stays true after the first success. */
const constraintTemplate: CatalogueEntry = {
  kind: 'ConstraintTemplate',
  documentation: `${gatekeeperSource}/pkg/controller/constrainttemplatestatus/constrainttemplatestatus_controller.go`,
  failed: "status.byPod.exists(p, p.errors.exists(e, e.code in ['ingest_error', 'parse_error', 'conversion_error']))",
  current: allOf('status.created', isReadByPods, hasNoErrors),
  cause: [podErrors],
}

/** A constraint of any template, and a mutation: in force when every pod enforces it. Errors are retried. */
function enforced(kind: string, file: string): CatalogueEntry {
  return {
    kind,
    documentation: `${gatekeeperSource}/apis/status/v1beta1/${file}`,
    current: allOf(isReadByPods, hasNoErrors, 'status.byPod.all(p, p.enforced)'),
    cause: [podErrors],
  }
}

export const gatekeeperTemplates: CatalogueGroup = { group: 'templates.gatekeeper.sh', entries: [constraintTemplate] }

export const gatekeeperConstraints: CatalogueGroup = {
  group: 'constraints.gatekeeper.sh',
  entries: [enforced('*', 'constraintpodstatus_types.go')],
}

export const gatekeeperMutations: CatalogueGroup = {
  group: 'mutations.gatekeeper.sh',
  entries: [enforced('*', 'mutatorpodstatus_types.go')],
}
