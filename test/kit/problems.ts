import type { Container, Pod } from '../../src/cluster/objects.ts'
import {
  headlineOf,
  type Problem,
  type ProblemWith,
  problemOf,
  type ReasonCode,
  type ReasonDetails,
  reasons,
} from '../../src/reasons/reasons.ts'
import type { HintFacts, ReasonSpec } from '../../src/reasons/spec.ts'
import { toSubject } from './subject.ts'

export const container: Container = { name: 'app', image: 'acme/web:v2' }

/** A problem of container app of a pod. */
export function createProblem<Reason extends ReasonCode>(
  reason: Reason,
  detail: ReasonDetails[Reason],
  overrides: Partial<ProblemWith<Reason>> = {},
): Problem {
  const subject = { subject: toSubject('pod/web-1-a'), container: 'app' }
  return problemOf({ reason, ...subject, detail, count: 1, firstSeenAt: 0, proven: true, ...overrides })
}

/** A pod with one container, and what else its spec has. */
export function createPod(spec: object = {}, status: object = {}): Pod {
  const metadata = { name: 'web-1-a' }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container], ...spec }, status }
}

interface Options<Reason extends ReasonCode> extends Partial<Omit<HintFacts<unknown>, 'problem'>> {
  readonly problem?: Partial<ProblemWith<Reason>>
}

/** The hint about a problem of deployment/web in namespace shop. */
export function hint<Reason extends ReasonCode>(
  reason: Reason,
  detail: ReasonDetails[Reason],
  { problem, ...facts }: Options<Reason> = {},
): string {
  const target = { kind: 'Deployment', name: 'web', namespace: 'shop' }
  const spec = reasons[reason] as ReasonSpec<unknown>
  return spec.hint({ target, problem: createProblem(reason, detail, problem), ...facts })
}

/** The headline about a problem, with its names in full. */
export function headline<Reason extends ReasonCode>(
  reason: Reason,
  detail: ReasonDetails[Reason],
  problem: Partial<ProblemWith<Reason>> = {},
): string {
  return headlineOf(createProblem(reason, detail, problem))
}
