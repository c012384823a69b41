import { existsSync } from 'node:fs'
import { setOutput } from '@actions/core'
import type { EndedRunRecord, TargetRecord } from './gate/run-record.ts'
import { safeLine } from './report/escape.ts'
import { decidingTarget } from './report/headline.ts'
import { gateShiftMs, isoTime } from './report/json-report.ts'
import { mapRecord } from './report/redact-record.ts'
import { rollbackOf } from './report/rollback.ts'
import { slowestStep } from './report/target-record.ts'
import { failedResourcesBytes, recentVersionMs } from './thresholds.ts'

/* Every output of the action: its name, documentation and value. */

/** The outputs of the extras. They are set as soon as an extra has written to GitHub, and again at the end. */
export type ExtraOutputs = Partial<Record<'deployment-id' | 'comment-url', string>>

/** The results that the record of a gate does not contain. */
interface Results {
  /** The path of the report; `summary`: of the summary. */
  readonly report: string
  readonly summary: string
  /** The outputs of the extras that have written to GitHub. */
  readonly extras?: ExtraOutputs
}

interface OutputDefinition {
  /** One sentence, for `action.yml` and the documentation. */
  readonly description: string
  /** Further sentences for `action.yml`. */
  readonly details?: string
  readonly value: (record: EndedRunRecord, results: Results) => string
}

/** Every output, in the order of the documentation. `npm run docs` writes them to `action.yml`. */
export const outputDefinitions = {
  outcome: {
    description:
      'How the gate ended: `ready`, `failed`, `stalled`, `timed-out`, `superseded`, `cancelled`, `misconfigured` (an input or a permission is wrong) or `unknown` (the cluster could not be read).',
    details: 'The job passes only on `ready`, and on `superseded` if `on-superseded` is `pass`.',
    value: ({ outcome }) => outcome,
  },
  reason: {
    description: 'The code of the reason for the outcome, like `image-not-found`, `crash-loop` or `no-progress`.',
    details: 'Empty if the outcome is `ready`.',
    value: ({ reason }) => reason,
  },
  message: {
    description: 'The outcome and its reason in one line of text.',
    value: ({ message }) => safeLine(message),
  },
  'failed-resources': {
    description:
      'A JSON array with one object for every resource that was not ready at the end, each with `target`, `namespace`, `outcome`, `reason` and `message`.',
    details: `A resource that only waits for another one has \`causedBy\`, like \`deployment.apps/web\`. After a merge, \`gate\` names the gate. The one that decided the outcome comes first. Limited to ${failedResourcesBytes / 1024} KiB: the last entry is then \`{"more": N}\`, and \`report\` has all. An empty array if all are ready.`,
    value: failedResources,
  },
  'duration-seconds': {
    description: 'How long the gate took, in seconds.',
    value: ({ startedAt, finishedAt }) => String((finishedAt - startedAt) / 1_000),
  },
  changed: {
    description:
      'A JSON array with one object for every resource whose version came shortly before the gate, or during it, each with `target`, `namespace` and `changedAt`.',
    details: `Shortly before means within \`require-change\`, else within ${recentVersionMs / 60_000} minutes. A scale, a label or a status makes no new version. Limited as \`failed-resources\`. An empty array if nothing has changed.`,
    value: changedResources,
  },
  'slowest-milestone': {
    description: 'The milestone that took longest, with its resource and its time: `deployment.apps/web ready 29.4s`.',
    details: 'The time of a milestone that was not reached ends with the gate. Empty if no milestone was reached.',
    value: slowestMilestone,
  },
  'rollback-command': {
    description:
      'The commands that undo what this change broke, on one line: `kubectl --context prod rollout undo deployment/web -n shop --to-revision=6`.',
    details: `Set only if the outcome is \`failed\`, and only for resources whose version came within ${recentVersionMs / 60_000} minutes before the gate ([all conditions](recipes.md#roll-back)). Every name in it is checked, so it may be run as it is. Empty otherwise: \`rollback-note\` has the reason.`,
    // Not `safeLine`, which could cut the command. The names in the command are already checked.
    value: (record) => rollbackOf(record).command,
  },
  'rollback-note': {
    description: 'What `rollback-command` restores and what it does not, or why there is none, in one line of text.',
    details: 'A Job that ran is one of the reasons: a migration may not be undone. Empty on `ready`.',
    value: (record) => safeLine(rollbackOf(record).note),
  },
  report: {
    description: 'The path of the report, a JSON file with every resource, its milestones, problems and evidence.',
    details: 'The runner deletes it after the job; docs/recipes.md has a step that uploads it.',
    value: (_, { report }) => report,
  },
  'summary-file': {
    description: 'The path of the job summary as a Markdown file, written even if `summary` is `false`.',
    value: (_, { summary }) => summary,
  },
  'deployment-id': {
    description: 'The number of the deployment whose status `report-to: deployment` wrote.',
    details: 'Empty without one.',
    value: (_, { extras }) => extras?.['deployment-id'] ?? '',
  },
  'comment-url': {
    description: 'The address of the comment that `report-to: comment` wrote.',
    details: 'Empty without one.',
    value: (_, { extras }) => extras?.['comment-url'] ?? '',
  },
} as const satisfies Readonly<Record<string, OutputDefinition>>

type OutputName = keyof typeof outputDefinitions

const messageLimit = 300
const longestMore = '{"more":1000000}'.length

/** The values of all outputs. Each is one line that is safe to print and to pass to other commands. */
export function buildOutputs(record: EndedRunRecord, results: Results): Readonly<Record<OutputName, string>> {
  const definitions = Object.entries<OutputDefinition>(outputDefinitions)
  const values = definitions.map(([name, { value }]) => [name, value(record, results)])
  return Object.fromEntries(values)
}

/** Sets outputs of the step. Without the runner's output file, `setOutput` would print an obsolete command. */
export function setOutputs(outputs: Partial<Record<OutputName, string>>): void {
  if (!existsSync(process.env['GITHUB_OUTPUT'] ?? '')) return
  for (const [name, value] of Object.entries(outputs)) setOutput(name, value)
}

/** The targets that are not ready, as JSON: the deciding target, then the others in the order of the inputs. */
function failedResources(record: EndedRunRecord): string {
  const deciding = decidingTarget(record)
  const failed = record.targets
    .filter(({ outcome }) => outcome !== 'ready')
    .toSorted((one, other) => Number(other === deciding) - Number(one === deciding))
  return jsonArray(
    failed.map((target) => {
      const { outcome, reason, causedBy, causedByNamespace } = target
      const message = safeLine(target.message, messageLimit)
      return targetJson(target, { outcome, reason, message, causedBy, causedByNamespace })
    }),
  )
}

/** The targets with a recent version, as JSON, in the order of the inputs. */
function changedResources(record: EndedRunRecord): string {
  const entries = record.targets.flatMap((target) => {
    const { change, changedAt } = target
    if (change !== 'recent' || changedAt === undefined) return []
    return [targetJson(target, { changedAt: isoTime(changedAt + gateShiftMs(target, record)) })]
  })
  return jsonArray(entries)
}

/** A target with facts, as JSON. All texts are made safe by `safeLine`. */
function targetJson(
  { target, namespace, gate }: TargetRecord,
  facts: Readonly<Record<string, string | undefined>>,
): string {
  return JSON.stringify(mapRecord({ target, namespace, gate, ...facts }, (text) => safeLine(String(text))))
}

/** Joins JSON texts to an array. If it is too large, entries are left out, and the last entry has their number. */
function jsonArray(entries: readonly string[]): string {
  const shown: string[] = []
  let bytes = '[]'.length + longestMore
  for (const entry of entries) {
    bytes += Buffer.byteLength(entry) + ','.length
    if (bytes > failedResourcesBytes) break
    shown.push(entry)
  }
  const rest = entries.length - shown.length
  if (rest > 0) shown.push(JSON.stringify({ more: rest }))
  return `[${shown.join(',')}]`
}

function slowestMilestone(record: EndedRunRecord): string {
  const { targets } = record
  if (!targets.some(({ milestones }) => milestones.some(({ state }) => state === 'done'))) return ''
  const steps = targets.flatMap((target) => {
    const step = slowestStep(target, record)
    return step === undefined ? [] : [{ ...step, target: target.target }]
  })
  const [slowest] = steps.toSorted((one, other) => other.tookMs - one.tookMs)
  if (slowest === undefined) return ''
  return `${safeLine(slowest.target)} ${safeLine(slowest.name)} ${(slowest.tookMs / 1_000).toFixed(1)}s`
}
