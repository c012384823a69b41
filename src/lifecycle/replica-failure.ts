import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { Problem } from './assessment.ts'
import { eventCount } from './history.ts'
import { condition } from './pod-state.ts'
import type { ReasonCode } from './reasons.ts'
import type { View } from './view.ts'

/**
 * Why a controller cannot create pods, from the API server's words in its ReplicaFailure condition or FailedCreate
 * event (pkg/controller/controller_utils.go). The order matters: a quota's refusal is a "forbidden" too.
 */
const wordings: readonly (readonly [ReasonCode, RegExp])[] = [
  ['quota-exceeded', /exceeded quota|must specify limits|insufficient quota/i],
  ['service-account-missing', /error looking up service account|serviceaccount "[^"]*" not found/i],
  ['webhook-unavailable', /failed calling webhook|failed to call webhook/i],
  [
    'admission-denied',
    /admission webhook "[^"]*" denied|violates PodSecurity|ValidatingAdmissionPolicy .* denied|denied the request/i,
  ],
]

/**
 * What keeps a controller from creating pods, from its ReplicaFailure condition. Terminal: an explicit denial by a policy
 * at its second attempt, since only another apply (or policy) changes its answer. Slow: everything that others may mend,
 * as quota, a missing ServiceAccount or an unreachable webhook.
 */
export function creationProblem(
  controller: KubeObject & { status?: { conditions?: Condition[] } },
  view: View,
): readonly Problem[] {
  const failed = condition(controller, 'ReplicaFailure')
  if (failed?.status !== 'True') return []
  const message = failed.message ?? ''
  const reason = wordings.find(([, pattern]) => pattern.test(message))?.[0] ?? 'replica-failure'
  const refusals = view.events(controller).filter((event) => event.reason === 'FailedCreate')
  const count = Math.max(
    1,
    refusals.reduce((sum, event) => sum + eventCount(event), 0),
  )
  const isDenied = reason === 'admission-denied'
  return [
    {
      reason,
      class: isDenied ? 'terminal' : 'slow',
      subject: `${controller.kind.toLowerCase()}/${controller.metadata.name}`,
      message: `pods cannot be created: ${message}`,
      count,
      firstSeenAt: view.time(failed.lastTransitionTime) ?? view.now,
      proven: isDenied && count >= 2,
    },
  ]
}
