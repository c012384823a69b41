import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject } from '../../../src/cluster/objects.ts'
import { genericRule } from '../../../src/lifecycle/custom/generic.ts'
import { readSignals } from '../../../src/lifecycle/custom/status.ts'
import { summarizeSignals } from '../../../src/lifecycle/custom/status-conditions.ts'
import { iso } from '../../kit/objects.ts'
import { read } from '../../kit/rule.ts'

/**
 * Statuses as controllers write them, one a line, and how the generic rule judges them after two minutes without a
 * change. One that is `failing` contains a failure after which its controller may retry: only a deadline ends it. Conditions are written as `Ready=False@2 Reason: message; Synced=True`, where 2 is the observed generation.
 */
interface Sample {
  /** The object, as the subject of a sentence. */
  readonly name: string
  readonly kind: string
  readonly expected: 'ready' | 'progressing' | 'failing' | 'failed' | 'suspended'
  readonly metadata?: object
  readonly spec?: object
  readonly status: object
}

const samples = readFileSync(join(import.meta.dirname, 'statuses.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line, withConditions) as Sample)

function withConditions(_key: string, value: unknown): unknown {
  const texts = typeof value === 'string' ? value.split('; ') : []
  const conditions = texts.flatMap((text) => {
    const found = /^([\w./-]+)=(\w+)(?:@(\d+))?(?: ([^:]+))?(?:: (.*))?$/.exec(text)
    if (found === null) return []
    const [, type, status, generation, reason, message] = found
    const observedGeneration = generation === undefined ? undefined : Number(generation)
    return [{ type, status, observedGeneration, reason, message, lastTransitionTime: iso(-600) }]
  })
  return conditions.length > 0 && conditions.length === texts.length ? conditions : value
}

function createVerdict({ kind, metadata, spec = {}, status }: Sample): string {
  const object: KubeObject = {
    apiVersion: 'example.com/v1',
    kind,
    metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 1, ...metadata },
    spec,
    status,
  }
  const assessment = read({ now: 120 }, genericRule, object)
  const [problem] = assessment.problems
  if (problem?.reason === 'suspended' || problem?.reason === 'paused') return 'suspended'
  const isFailing = assessment.status === 'progressing' && summarizeSignals(readSignals(object)).meaning === 'failed'
  return isFailing ? 'failing' : assessment.status
}

const words: Readonly<Record<Sample['expected'], string>> = {
  ready: 'is ready',
  progressing: 'is progressing',
  failing: 'has a failure that its controller may retry',
  failed: 'has failed',
  suspended: 'is suspended',
}

it.each(samples.map((sample) => [`${sample.name} ${words[sample.expected]}`, sample] as const))('%s', (_, sample) => {
  expect(createVerdict(sample)).toBe(sample.expected)
})
