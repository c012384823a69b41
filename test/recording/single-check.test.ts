import { readdirSync } from 'node:fs'
import { isAccessDenied } from '../../src/cluster/failures.ts'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import { nameOf } from '../../src/cluster/objects.ts'
import { Gate } from '../../src/gate/gate.ts'
import { singleCheckSchema } from '../../src/gate/report-schema.ts'
import type { RunRecord, TargetRecord } from '../../src/gate/run-record.ts'
import { settingsForPurpose } from '../../src/gate/settings.ts'
import { loadChecks } from '../../src/lifecycle/rules.ts'
import { nameKey } from '../../src/plan/target.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { recordedSettings } from '../../src/run/recorded-run.ts'
import { singleCheckRecord } from '../../src/views/single-check.ts'
import { runCommand } from '../support/command.ts'
import {
  hasAnswers,
  indexEvents,
  operatorRecordingsFolder,
  recordedEvents,
  recordingPath,
  recordingsFolder,
  recordingTitle,
  replayRecording,
  titledRecordings,
} from '../support/recordings.ts'
import { isThorough, sampled } from '../support/thorough.ts'

/** One look at the objects of a recording as they were at `end`, by a gate that has seen nothing before. */
async function lookAtEnd(path: string, end: number): Promise<RunRecord> {
  const header = await readHeader(path)
  const targets = header.targets ?? []
  const settings = { ...recordedSettings(header), ...(await loadChecks(targets, [])), startedAt: end }
  const events = await recordedEvents(path)
  const index = indexEvents(events)
  const last = new Map<string, FeedEvent>()
  for (const event of events) {
    if (event.at > end) break
    if (event.type === 'DISCOVERY') last.set('', event)
    if (!('object' in event)) continue
    const key = nameKey(nameOf(event.object))
    if (event.type === 'DELETED') last.delete(key)
    else last.set(key, { ...event, type: 'ADDED' })
  }
  const gate = new Gate(targets, settingsForPurpose('single-check', settings), (request) => index.hasAnswer(request))
  gate.handle([...last.values()].map((event) => ({ ...event, at: end })))
  gate.handle(
    events.flatMap((event): FeedEvent[] => {
      if (event.type !== 'SYNCED' && !isAccessDenied(event)) return []
      const { apiVersion, kind, namespace, name, labelSelector } = event
      if (apiVersion === undefined || kind === undefined) return []
      return [{ type: 'SYNCED', apiVersion, kind, namespace, name, labelSelector, at: end }]
    }),
  )
  gate.advance(end)
  return singleCheckRecord(gate, end)
}

/** What only a gate that has watched can know, by recording. */
const needsHistory: Readonly<Record<string, string>> = {
  'argo-cd-revision-last-hook-fails': 'the sync, which has failed since, deployed a Deployment',
  'argo-cd-revision-retry-superseded': 'the first attempt was of the awaited revision',
  'argo-rollouts-changed-during': 'another version was gated',
  'change-not-seen': 'the awaited change did not come',
  deleted: 'the object existed before',
  'evicted-again-and-again': 'earlier pods were evicted too',
  'flux-revision-cancelled': 'an attempt was of the awaited revision',
  'image-of-a-removed-job': 'the Job succeeded before it was removed',
  'job-longer-than-a-literal-stall-timeout': 'nothing moved for the time that the user wrote',
  'job-removed-after-success': 'the Job succeeded before it was removed',
  'kruise-rollouts-stale': 'nothing moved',
  'kubelet-lost-during-a-pull': 'nothing moved',
  'old-restarts-and-a-blink': 'the container has run long enough since the gate saw it',
}

/** Outcomes that are about the time, or about an earlier version. */
const judged: ReadonlySet<string> = new Set(['ready', 'failed', 'stalled', 'timed-out'])

/** Of an awaited revision, the object itself shows which one replaced it. */
const judgedOfRevision: ReadonlySet<string> = new Set([...judged, 'superseded'])

const recordings = [recordingsFolder, operatorRecordingsFolder].flatMap((folder) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.ndjson.gz'))
    .map((file) => file.slice(0, -'.ndjson.gz'.length))
    .map((name) => [name, recordingPath(name, folder)] as const),
)
// One look asks for no requests and metrics.
const comparable = recordings.filter(([name, path]) => needsHistory[name] === undefined && !hasAnswers(path))

const titled = (some: readonly (readonly [string, string])[]) =>
  some.map(([name, path]): [string, string] => [recordingTitle(name), path])

test.each(titled(sampled(comparable, 24)))(
  'a single check at the end of %s finds the reasons and the undo of the gate',
  async (_, path) => {
    const { runRecord: record } = await replayRecording(path)
    const look = await lookAtEnd(path, record.finishedAt)
    const { targets: recorded = [] } = await readHeader(path)
    const isOfRevision = recorded.some(({ revisions }) => revisions !== undefined)
    const isLeft = look.targets.some(({ outcome }) => outcome === 'superseded')
    // What was deployed of a revision belongs to it until another one replaces it.
    const isCompared = ({ deployedBy, outcome }: TargetRecord) =>
      (isOfRevision ? judgedOfRevision : judged).has(outcome) && !(isLeft && deployedBy !== undefined)
    const ended = new Set(record.targets.filter(isCompared).map(({ target }) => target))
    const reasonsOf = ({ targets }: RunRecord) =>
      targets
        .filter(({ target }) => ended.has(target))
        .map(({ target, outcome, reason, undo }) => ({ target, state: outcome === 'ready' ? 'ready' : reason, undo }))
        .toSorted((a, b) => a.target.localeCompare(b.target))
    expect(reasonsOf(look)).toEqual(reasonsOf(record))
  },
)

test.each(titled(sampled(recordings, 24, 8)))(
  'the output of why --json for %s matches the published schema',
  async (_, path) => {
    for (const moment of [[], ['--at=0:01'], ['--at=0:10']]) {
      const { stdout } = await runCommand(['why', `--recording=${path}`, '--json', ...moment])
      const report = JSON.parse(stdout)
      // Parsing removes fields that the schema does not have.
      expect(singleCheckSchema.parse(report)).toEqual(report)
    }
  },
)

/** What only the recording shows of earlier moments, although a gate that ends there finds the same as a look. */
const needsEarlierMoments: Readonly<Record<string, string>> = {
  'half-open-while-it-is-replaced': 'the object existed before',
  'role-binding-removed-healthy': 'its objects may not be read any more',
}

/**
 * A recording also contains what happened before the moment: deaths that fail the target then (`failed`), where a live look
 * only finds them as a problem (`stalled`). The reasons are the same.
 */
const viewed = comparable.filter(([name]) => needsEarlierMoments[name] === undefined)
const moments = isThorough ? 5 : 3

test.each(titled(sampled(viewed, 24, 16)))(
  'at several moments of %s, a replay finds the reasons of a live single check',
  async (_, path) => {
    const header = await readHeader(path)
    const targets = header.targets ?? []
    const settings = { ...recordedSettings(header), ...(await loadChecks(targets, [])) }
    const events = await recordedEvents(path)
    const index = indexEvents(events)
    const listedAt = events.findLast(({ type }) => type === 'SYNCED')?.at ?? settings.startedAt
    const lastAt = events.at(-1)?.at ?? settings.startedAt
    const reasonsOf = (look: RunRecord) =>
      new Map(look.targets.map(({ target, outcome, reason }) => [target, reason || outcome]))
    const recorded: [string, string | undefined][][] = []
    const live: [string, string | undefined][][] = []
    for (let moment = 1; moment <= moments; moment++) {
      const at = Math.round(listedAt + ((lastAt - listedAt) * moment) / moments)
      const gate = new Gate(targets, settingsForPurpose('single-check', settings), (request) =>
        index.hasAnswer(request),
      )
      gate.handle(events.filter((event) => event.at <= at))
      gate.advance(at)
      const then = reasonsOf(singleCheckRecord(gate, at))
      const found = reasonsOf(await lookAtEnd(path, at))
      live.push([...found])
      // The recording also shows what an earlier revision deployed.
      recorded.push([...found.keys()].map((id) => [id, then.get(id)]))
    }
    expect(recorded.map((each) => each.toSorted())).toEqual(live.map((each) => each.toSorted()))
  },
)

const shown = ['crash-loop', 'update', 'service-without-ready-pods', 'daemonset-crash', 'job-retries']

test.each(titledRecordings(shown))('for %s, the command why prints the reasons of a single check', async (_, name) => {
  const path = recordingPath(name)
  const startedAt = Date.parse((await readHeader(path)).startedAt)
  const { stdout } = await runCommand(['why', `--recording=${path}`, '--json', '--at=0:05'])
  const { targets } = await lookAtEnd(path, startedAt + 5_000)
  const reasons = (all: readonly { readonly outcome: string; readonly reason: string }[]) =>
    all.map(({ outcome, reason }) => reason || outcome)
  expect(reasons(JSON.parse(stdout).targets)).toEqual(reasons(targets))
})
