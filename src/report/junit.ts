import type { EndedTimeline, TargetRecord } from '../gate/timeline.ts'
import { fullNames } from '../plan/target.ts'
import { plainLines } from './escape.ts'
import { conclude, headline, waitingLine } from './headline.ts'
import { messageWithName, orderEvidence, problemCount, problemPath, stepsOf } from './target-record.ts'

/** The maximum number of lines of a piece of evidence. It is cut at its start: readers of JUnit show it in one box. */
const evidenceLines = 200

/**
 * The gate as a JUnit report. Each target is a test case in a suite of its own, whose properties are the milestones: the
 * schemas of Jenkins and Ant permit properties only there (https://github.com/jenkinsci/xunit-plugin, `junit-10.xsd`). A
 * target that failed has a failure; one that was not judged to its end, or only waits for another one, is skipped; a gate
 * without targets is one case with an error. Evidence is in `system-out`.
 */
export function renderJunit(timeline: EndedTimeline): string {
  const { targets, startedAt, finishedAt } = timeline
  const names = fullNames(targets.map(({ target }) => target))
  const cases =
    targets.length === 0
      ? [caseOfGate(timeline)]
      : targets.map((record, index) => caseOfTarget(record, names[index] ?? '', index, timeline))
  const suites = cases.map((each, id) => renderSuite(each, id, startedAt))
  const total = (result: Result) => cases.filter((each) => each.result === result).length
  const time = seconds(finishedAt - startedAt)
  const head = `<testsuites name="Rollout Gate" tests="${cases.length}" failures="${total('failure')}" errors="${total('error')}" time="${time}">`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${[head, ...suites, '</testsuites>'].join('\n')}\n`
}

type Result = 'passed' | 'failure' | 'error' | 'skipped'

interface TestCase {
  readonly name: string
  /** The group of the case: its namespace and kind. */
  readonly className: string
  readonly tookMs: number
  readonly result: Result
  /** The type and message of the result, unless it passed. */
  readonly type: string
  readonly message: string
  /** What to do. */
  readonly text: string
  readonly properties: readonly (readonly [name: string, value: string])[]
  readonly output: string
}

function caseOfGate(timeline: EndedTimeline): TestCase {
  const { startedAt, finishedAt, verdict } = timeline
  const { messages, hint = '' } = conclude(timeline)
  return {
    name: 'rollout',
    className: 'gate',
    tookMs: finishedAt - startedAt,
    result: verdict.outcome === 'ready' ? 'passed' : 'error',
    type: verdict.reason || verdict.outcome,
    message: messages.join('\n') || headline(timeline),
    text: hint,
    properties: propertiesOfGate(timeline),
    output: '',
  }
}

function caseOfTarget(record: TargetRecord, name: string, index: number, timeline: EndedTimeline): TestCase {
  const { startedAt, finishedAt } = timeline
  const { target, outcome, reason, causedBy, hint = '' } = record
  const waiting = causedBy === undefined ? undefined : waitingLine(index, timeline)
  return {
    name,
    className: [target.gate, target.namespace, target.kind].filter((word) => word !== undefined).join('.'),
    tookMs: (record.endedAt ?? finishedAt) - startedAt,
    result: resultOf(record),
    type: reason || outcome,
    message: waiting ?? messageWithName(name, record),
    text: hint,
    properties: [...propertiesOfGate(timeline), ...propertiesOfTarget(record, startedAt)],
    output: outputOf(record, startedAt),
  }
}

function resultOf({ outcome, causedBy }: TargetRecord): Result {
  if (outcome === 'ready') return 'passed'
  if (causedBy !== undefined || outcome === 'progressing' || outcome === 'cancelled') return 'skipped'
  return outcome === 'unknown' || outcome === 'misconfigured' ? 'error' : 'failure'
}

function propertiesOfGate({ verdict, context, serverVersion }: EndedTimeline): TestCase['properties'] {
  return [
    ['gate.outcome', verdict.outcome],
    ['gate.context', context],
    ['gate.kubernetes', serverVersion],
  ]
}

/** The outcome, and when each milestone was reached: seconds since the start of the gate. */
function propertiesOfTarget(record: TargetRecord, startedAt: number) {
  const { outcome, target } = record
  const { source } = target
  const steps = stepsOf(record, startedAt).map(
    ({ name, at }) => [`milestone.${name}`, seconds(at - startedAt)] as const,
  )
  return [
    ['outcome', outcome] as const,
    ...(source === undefined ? [] : [['source', `${source.file}:${source.line}`] as const]),
    ...steps,
  ]
}

/** The problems with their evidence, the changes and the notes of a target, as text. */
function outputOf({ problems, changes = [], notes }: TargetRecord, startedAt: number): string {
  const lines = [
    ...problems.flatMap((problem) => [
      `${problem.reason} · ${problemPath(problem)} · ${problemCount(problem, startedAt)}`,
      problem.message,
      ...orderEvidence(problem.evidence).flatMap(({ title, text }) => [
        '',
        `${title}:`,
        ...plainLines(text).slice(-evidenceLines),
      ]),
      '',
    ]),
    ...(changes.length === 0 ? [] : ['What changed:', ...changes, '']),
    ...notes,
  ]
  return lines.join('\n').trim()
}

function renderSuite(each: TestCase, id: number, startedAt: number): string {
  const { name, className, result, properties, output } = each
  const time = seconds(each.tookMs)
  const count = (of: Result) => Number(result === of)
  const details = `type="${escapeXml(each.type)}" message="${escapeXml(each.message)}"`
  const body = [each.message, each.text].filter((text) => text !== '').join('\n\n')
  const outcome =
    result === 'passed'
      ? []
      : result === 'skipped'
        ? [`      <skipped>${escapeXml(body)}</skipped>`]
        : [`      <${result} ${details}>${escapeXml(body)}</${result}>`]
  return [
    `  <testsuite id="${id}" name="${escapeXml(name)}" tests="1" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}" time="${time}" timestamp="${new Date(startedAt).toISOString().slice(0, 19)}">`,
    '    <properties>',
    ...properties.map(([key, value]) => `      <property name="${escapeXml(key)}" value="${escapeXml(value)}"/>`),
    '    </properties>',
    `    <testcase name="${escapeXml(name)}" classname="${escapeXml(className)}" time="${time}">`,
    ...outcome,
    ...(output === '' ? [] : [`      <system-out>${escapeXml(output)}</system-out>`]),
    '    </testcase>',
    '  </testsuite>',
  ].join('\n')
}

function seconds(ms: number): string {
  return (Math.max(0, ms) / 1_000).toFixed(3)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\t': '&#9;',
}

/** Text for XML 1.0. Characters that XML 1.0 does not have become � (https://www.w3.org/TR/xml/#charsets). */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"\n\t]/g, (mark) => entities[mark] ?? mark)
}
