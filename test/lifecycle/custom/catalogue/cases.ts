import type { KubeObject } from '../../../../src/cluster/objects.ts'
import {
  type CatalogueEntry,
  type CatalogueGroup,
  compileEntry,
  type OperatorCheck,
} from '../../../../src/lifecycle/custom/catalogue/entry.ts'
import { operatorRule } from '../../../../src/lifecycle/custom/health-check.ts'
import { observeTarget } from '../../../../src/lifecycle/target-history.ts'
import { loadCompiler } from '../../../../src/plan/expressions.ts'
import { hint } from '../../../reasons/builders.ts'
import { context, iso, minute, moment, reported } from '../../builders.ts'

/** An object as its operator writes it. Name, namespace, uid, generation and times are added where they are missing. */
export interface SampleObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: Partial<KubeObject['metadata']>
  readonly spec?: object
  readonly status?: object
}

/** The expected result of a case, a long time after the object's last change. */
export interface Expected {
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

/** A sentence, an object and the expected result. */
export type EntryCase = readonly [name: string, object: SampleObject, expected: Expected]

/**
 * Tests the entries of a group with objects as their operator writes them:
 *
 *     testEntries(argoRollouts, [
 *       ['a Rollout whose canary step waits for a person is paused', {…}, { verdict: 'suspended', mentions: '…' }],
 *     ])
 */
export function testEntries(group: CatalogueGroup, cases: readonly EntryCase[]): void {
  describe(`the catalogue's entries for ${group.group}`, () => {
    it.each(cases)('%s', async (_, sample, { verdict, mentions = '', hint = '', isHeld, reached }) => {
      const found = await judgeSample(group, sample)
      expect(found).toMatchObject({
        verdict,
        message: expect.stringContaining(mentions),
        hint: expect.stringContaining(hint),
        ...(isHeld === undefined ? {} : { isHeld }),
        ...(reached === undefined ? {} : { reached }),
      })
    })
  })
}

/** The result of an entry's rule for an object that has not changed for ten minutes. */
export async function judgeSample(group: CatalogueGroup, sample: SampleObject) {
  const object = complete(sample)
  const rule = operatorRule(await compiled(group, object))
  const history = observeTarget(undefined, object, moment(0), rule.failures?.(object))
  const assessment = rule.assess(object, context({ now: 10 * minute, history, declaresStatus: true }))
  const { status, message, problems, milestones, stallHold } = reported(assessment)
  const [problem] = assessment.problems
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

async function compiled(group: CatalogueGroup, { apiVersion, kind }: KubeObject): Promise<OperatorCheck> {
  const entry = entryOf(group, kind)
  if (entry === undefined) throw new Error(`The group ${group.group} has no entry for ${kind}.`)
  return compileEntry(entry, { apiVersion, kind }, await loadCompiler())
}

function entryOf({ entries }: CatalogueGroup, kind: string): CatalogueEntry | undefined {
  return entries.find((each) => each.kind === kind) ?? entries.find((each) => each.kind === '*')
}

function complete({ metadata, ...rest }: SampleObject): KubeObject {
  return {
    ...rest,
    metadata: {
      name: 'sample',
      namespace: 'shop',
      uid: 'sample-uid',
      generation: 1,
      creationTimestamp: iso(-minute),
      ...metadata,
    },
  }
}
