import type { KubeObject } from '../../../src/cluster/objects.ts'
import { healthCheckRule } from '../../../src/lifecycle/custom/health-check.ts'
import { compileEntry, findEntry, type HealthCheckEntry, loadCompiler } from '../../../src/plan/health-checks.ts'
import { iso, minute } from '../../kit/objects.ts'
import { hint } from '../../kit/problems.ts'
import { read } from '../../kit/rule.ts'

/** An object as its operator writes it. Name, namespace, uid, generation 2, times and an empty spec are added where they are missing. */
export interface SampleObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: Partial<KubeObject['metadata']>
  readonly spec?: object
  readonly status?: object
}

/** A case: the parts of an object, and the expected result a long time after the object's last change. */
export interface EntryCase extends Pick<SampleObject, 'metadata' | 'spec' | 'status'> {
  /** A sentence. */
  readonly name: string
  readonly verdict: 'ready' | 'progressing' | 'failed' | 'suspended'
  /** A part of the message. */
  readonly mentions?: string
  /** A part of the hint of the first problem: the command that resumes a suspended object. */
  readonly hint?: string
  /** Whether the stall clock stands still. */
  readonly isHeld?: boolean
  /** The milestones that are done, without `created`. */
  readonly reached?: readonly string[]
}

/** The cases of a kind, as in `catalogue/tests/`. */
export interface KindCases {
  readonly apiVersion: string
  readonly kind: string
  readonly cases: readonly EntryCase[]
}

/** Tests the entries of a kind with objects as their operator writes them. */
export function testEntries(entries: readonly HealthCheckEntry[], { apiVersion, kind, cases }: KindCases): void {
  it.each(cases.map((each) => [each.name, each] as const))('%s', (_, each) => {
    const { name: __, verdict, mentions = '', hint = '', isHeld, reached, ...parts } = each
    const found = judgeSample(entries, { apiVersion, kind, ...parts })
    expect(found).toMatchObject({
      verdict,
      message: expect.stringContaining(mentions),
      hint: expect.stringContaining(hint),
      ...(isHeld === undefined ? {} : { isHeld }),
      ...(reached === undefined ? {} : { reached }),
    })
  })
}

/** The result of an entry's rule for an object that has not changed for ten minutes. */
export function judgeSample(entries: readonly HealthCheckEntry[], sample: SampleObject) {
  const object = complete(sample)
  const rule = healthCheckRule(compiled(entries, object))
  const assessment = read({ now: 10 * minute, declaresStatus: true }, rule, object)
  const { status, message, problems, milestones, stallHold } = assessment
  const [problem] = problems
  const target = { kind: object.kind, name: object.metadata.name, namespace: object.metadata.namespace }
  const isSuspended = problems.some(({ reason }) => reason === 'paused' || reason === 'suspended')
  return {
    verdict: status === 'progressing' && isSuspended ? 'suspended' : status,
    message: [message, ...problems.map((each) => each.message)].join('\n'),
    hint: problem === undefined ? '' : hint(problem.reason, problem.detail, { target }),
    isHeld: stallHold !== undefined,
    reached: milestones.flatMap(({ name, state }) => (state === 'done' && name !== 'created' ? [name] : [])),
  }
}

const compiler = await loadCompiler()
/** Each entry is compiled once. */
const checks = new Map<HealthCheckEntry, ReturnType<typeof compileEntry>>()

function compiled(entries: readonly HealthCheckEntry[], { apiVersion, kind }: KubeObject) {
  const entry = findEntry({ apiVersion, kind }, entries as readonly (HealthCheckEntry & { group: string })[])
  if (entry === undefined) throw new Error(`There is no entry for ${kind} of ${apiVersion}.`)
  const check = checks.get(entry) ?? compileEntry(entry, compiler)
  checks.set(entry, check)
  return check
}

function complete({ metadata, ...rest }: SampleObject): KubeObject {
  return {
    spec: {},
    ...rest,
    metadata: {
      name: 'sample',
      namespace: 'shop',
      uid: 'sample-uid',
      generation: 2,
      creationTimestamp: iso(-minute),
      ...metadata,
    },
  }
}
