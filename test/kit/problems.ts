import type { Container, Pod } from '../../src/cluster/objects.ts'
import { type HintDetails, targetHint } from '../../src/diagnosis/hints.ts'
import type { Target } from '../../src/plan/target.ts'
import {
  buildProblem,
  headlineOf,
  hintOf,
  messageOf,
  type Problem,
  type ProblemWith,
  problemSentence,
  type ReasonCode,
  type ReasonDetails,
} from '../../src/reasons/reasons.ts'
import type { HintFacts } from '../../src/reasons/spec.ts'
import { createTarget } from './gate.ts'
import { readData } from './rows.ts'
import { toSubject } from './subject.ts'
import { expectWords } from './words.ts'

const container: Container = { name: 'app', image: 'acme/web:v2' }

/** A problem of container app of a pod. */
export function createProblem<Reason extends ReasonCode>(
  reason: Reason,
  detail: ReasonDetails[Reason],
  overrides: Partial<ProblemWith<Reason>> = {},
): Problem {
  const subject = { subject: toSubject('pod/web-1-a'), container: 'app' }
  return buildProblem({ reason, ...subject, detail, count: 1, firstSeenAt: 0, proven: true, ...overrides })
}

/** A pod with one container, and what else its spec has. */
function createPod(spec: object = {}, status: object = {}): Pod {
  const metadata = { name: 'web-1-a' }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container], ...spec }, status }
}

interface Options<Reason extends ReasonCode> extends Partial<Omit<HintFacts, 'problem'>> {
  readonly problem?: Partial<ProblemWith<Reason>>
}

/** The hint about a problem of deployment/web in namespace shop. */
export function hint<Reason extends ReasonCode>(
  reason: Reason,
  detail: ReasonDetails[Reason],
  { problem, ...facts }: Options<Reason> = {},
): string {
  const target = { kind: 'Deployment', name: 'web', namespace: 'shop' }
  return hintOf(reason, { target, problem: createProblem(reason, detail, problem), ...facts })
}

/** What a problem is, besides its reason and detail, and what is known of it. */
interface Circumstances extends Omit<HintDetails, 'problem' | 'cause' | 'spec' | 'pod'> {
  /** `pod/web-1-a` unless another one is named. */
  readonly subject?: string
  /** Container app unless it is null. */
  readonly container?: string | null
  readonly isInit?: boolean
  readonly isReplaced?: boolean
  readonly count?: number
  readonly oldRevision?: Problem['oldRevision']
  readonly cause?: readonly [ReasonCode, ReasonDetails[ReasonCode], Circumstances?]
  /** Fields of the target, which is `deployment/web`. */
  readonly target?: Partial<Target>
  /** What else the spec and the status of the pod have, and the spec of the container. */
  readonly pod?: { readonly spec?: object; readonly status?: object }
  readonly spec?: object
}

/** Texts in which `…` stands for any other words. */
interface Words {
  readonly message?: string
  readonly sentence?: string
  readonly headline?: string
  readonly hint?: string
  readonly hintLacks?: readonly string[]
}

type Case = readonly [ReasonCode, ReasonDetails[ReasonCode], Words, Circumstances?]

function factsOf(
  reason: ReasonCode,
  detail: ReasonDetails[ReasonCode],
  of: Circumstances,
): HintDetails & { readonly problem: Problem } {
  const { subject, container: own, cause, target: _, pod, spec, isInit, isReplaced, oldRevision, count, ...facts } = of
  const behind = cause && factsOf(cause[0], cause[1], cause[2] ?? {})
  const overrides = {
    ...(subject !== undefined && { subject: toSubject(subject) }),
    ...(own !== undefined && { container: own ?? undefined }),
    ...(behind && { cause: behind.problem }),
    ...(isInit && { isInit }),
    ...(isReplaced && { isReplaced }),
    ...(oldRevision && { oldRevision }),
    ...(count !== undefined && { count }),
  }
  return {
    ...facts,
    problem: createProblem(reason, detail, overrides),
    ...(behind && { cause: behind }),
    ...(pod && { pod: createPod(pod.spec, pod.status) }),
    ...(spec && { spec: { ...container, ...spec } }),
  }
}

/** The cases of a file: a group, its titles, and for each `[reason, detail, words, circumstances]`. */
export function testProblems(path: string): void {
  const groups = Object.entries(readData(path) as Record<string, Record<string, Case>>)
  describe.each(groups)('%s', (_, cases) =>
    it.each(Object.entries(cases))('%s', (_title, [reason, detail, words, of = {}]) => {
      const facts = factsOf(reason, detail, of)
      expectWords(messageOf(facts.problem), words.message)
      expectWords(problemSentence(facts.problem), words.sentence)
      expectWords(headlineOf(facts.problem), words.headline)
      const hint = targetHint(createTarget(of.target), reason, facts)
      expectWords(hint, words.hint)
      for (const text of words.hintLacks ?? []) expect(hint).not.toContain(text)
    }),
  )
}
