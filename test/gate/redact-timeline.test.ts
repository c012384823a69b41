import { redactTimeline } from '../../src/gate/redact-timeline.ts'
import type { EndedTimeline, GateRecord } from '../../src/gate/timeline.ts'
import {
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createTarget,
  createTargetRecord,
  createTimeline,
  start,
} from '../report/builders.ts'

const secret = 'sesame'
const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: secret } }

/** A timeline with the secret in every text, and in what only the gate itself reads. */
const timeline = createTimeline({
  hint: secret,
  verdict: { outcome: 'failed', reason: 'crash-loop', message: secret, denied: { wasReadable: true, access: [] } },
  entries: [createEntry({ text: secret })],
  targets: [
    createTargetRecord({
      target: createTarget({ manifest: object }),
      message: secret,
      hint: secret,
      hintWithoutLog: secret,
      changes: [secret],
      notes: [secret],
      warnings: [secret],
      snapshot: [object],
      milestones: [createMilestone({ message: secret })],
      problems: [
        createProblem({
          message: secret,
          headline: secret,
          evidence: [createEvidence({ title: secret, text: secret })],
        }),
      ],
    }),
  ],
  gates: [
    {
      name: 'eu',
      path: 'eu.json',
      context: 'prod',
      serverVersion: '',
      outcome: 'failed',
      reason: 'crash-loop',
      message: secret,
      hint: secret,
      startedAt: start,
    } satisfies GateRecord,
  ],
}) as EndedTimeline

test('no text of a timeline leaves as it is', () => {
  expect(JSON.stringify(timeline)).toContain(secret)
  const redacted = redactTimeline(timeline, (text) => text.replaceAll(secret, '***'))
  expect(JSON.stringify(redacted)).not.toContain(secret)
  expect(redacted.targets[0]?.problems[0]?.evidence[0]).toMatchObject({ title: '***', text: '***' })
})

test('a field that is not listed stays in the process', () => {
  const redacted = redactTimeline({ ...timeline, unlisted: secret } as EndedTimeline, (text) => text)
  expect(redacted).not.toHaveProperty('unlisted')
  expect(redacted.verdict).not.toHaveProperty('denied')
  for (const field of ['target.manifest', 'snapshot', 'problems.0.detail'])
    expect(redacted.targets[0]).not.toHaveProperty(field)
})

test('names, codes and moments leave as they are', () => {
  const { targets, verdict } = redactTimeline(timeline, () => '***')
  expect(verdict).toMatchObject({ outcome: 'failed', reason: 'crash-loop' })
  expect(targets[0]?.target).toMatchObject({ kind: createTarget().kind, name: createTarget().name })
})
