import { availableParallelism } from 'node:os'
import { podStages } from './bench-objects.ts'
import { table } from './markdown.ts'

/** `scripts/performance.md`, from the results of `bench.ts`. */

export interface Run {
  readonly wallMs: number
  readonly cpuMs: number
}

/**
 * Milliseconds from a write of the API server: to the log line, to the exit when ready, and to the last line and the exit when
 * failed.
 */
export interface Reaction extends Readonly<Record<'line' | 'ready' | 'failed' | 'end', readonly number[]>> {}

export interface Scale extends Readonly<Record<'rssMb' | 'cpuMs' | 'exitMs' | 'podEvents' | 'requests', number>> {}

/** The cost of events about one pod, and of missing targets. */
export interface Bounds extends Readonly<Record<'events' | 'missing', Run>> {}

export interface Results {
  readonly sizes: Readonly<Record<'rounds' | 'reactions' | 'deployments' | 'durationMs' | 'events' | 'missing', number>>
  /** The load of the machine before the first measurement and after the last one. */
  readonly load: readonly [before: number, after: number]
  readonly start: ReadonlyMap<string, readonly Run[]>
  readonly reaction: Reaction
  /** By version. */
  readonly scales: ReadonlyMap<string, Scale>
  readonly bounds: ReadonlyMap<string, Bounds>
}

const startNotes = [
  'Where a goal is missed: Node alone needs 0.4 times the CPU time of kubectl, and 0.85 times with one TLS connection and one request,',
  'because it compiles its modules for TLS and HTTP, and a thread parses 150 authorities that are not used. The rest of the time, V8',
  'compiles the bundle and runs code that is not optimised yet. kubectl is compiled already.',
]

const scaleNotes = [
  'Where a goal is missed: 50 MB of the memory are pages of files, most of them shared with other processes of Node. The heap is',
  '20 MB, and 5 KB for each pod. The rest is garbage and unread events, because the API server and the gate share the cores of the',
  'machine. The gate reads these events before its exit.',
]

interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly goal: number
}

/** The document: each figure beside its goal. Without kubectl there is no ratio. */
export function render({ sizes, load, start, reaction, scales, bounds }: Results): string {
  const medians = [...start].map(([name, runs]) => ({
    name,
    wallMs: median(runs.map(({ wallMs }) => wallMs)),
    leastMs: Math.min(...runs.map(({ wallMs }) => wallMs)),
    cpuMs: median(runs.map(({ cpuMs }) => cpuMs)),
  }))
  const [gate] = medians
  const kubectl = medians.find(({ name }) => name.startsWith('kubectl'))
  const [scale] = scales.values()
  const [bound] = bounds.values()
  if (gate === undefined || scale === undefined || bound === undefined) throw new Error('Nothing was measured.')
  const pods = (scale.podEvents / podStages.length).toLocaleString('en')
  const ratios: readonly Figure[] =
    kubectl === undefined
      ? []
      : [
          { name: 'Start: elapsed time, relative to kubectl', value: gate.wallMs / kubectl.wallMs, unit: '×', goal: 2 },
          { name: 'Start: CPU time, relative to kubectl', value: gate.cpuMs / kubectl.cpuMs, unit: '×', goal: 2 },
        ]
  const cpuOf100 = (scale.cpuMs - gate.cpuMs) / 1000 / (scale.podEvents / 100)
  const figures: readonly Figure[] = [
    ...ratios,
    { name: 'Write to log line, median', value: median(reaction.line), unit: 'ms', goal: 10 },
    { name: 'Write to exit when ready, median', value: median(reaction.ready), unit: 'ms', goal: 50 },
    { name: 'Write to last line when failed, median', value: median(reaction.failed), unit: 'ms', goal: 400 },
    { name: `${pods} pods: largest memory`, value: scale.rssMb, unit: 'MB', goal: 190 },
    { name: `${pods} pods: exit after the last event`, value: scale.exitMs, unit: 'ms', goal: 250 },
    { name: `${pods} pods: CPU time of 100 pod events`, value: cpuOf100, unit: 's', goal: 0.05 },
    { name: `${sizes.events} events about one pod: CPU time`, value: bound.events.cpuMs / 1000, unit: 's', goal: 4 },
    { name: `${sizes.missing} missing targets: CPU time`, value: bound.missing.cpuMs / 1000, unit: 's', goal: 1.5 },
  ]
  return `${[
    '# Performance',
    '',
    'Written by `npm run bench`; the texts below the tables are part of `scripts/performance-document.ts`.',
    '',
    `Machine: ${availableParallelism()} cores, Node ${process.versions.node}. Load before the run ${load[0].toFixed(1)}, after it ${load[1].toFixed(1)}. Other programs`,
    'make all times longer, and the large rollout needs more memory for unread events. Only the ratios of alternating programs can be',
    'compared.',
    '',
    '[Experiments](performance-experiments.md) lists what was tried, and what it gave.',
    '',
    ...table(
      ['figure', 'measured', 'goal', ''],
      figures.map(({ name, value, unit, goal }) => [
        name,
        `${format(value)} ${unit}`,
        `≤ ${goal} ${unit}`,
        value <= goal ? 'met' : `**missed** by ${((value / goal - 1) * 100).toFixed(0)} %`,
      ]),
    ),
    '',
    '## Start',
    '',
    `One finished Deployment with three pods, the same API server over TLS, ${sizes.rounds} alternating runs.`,
    '',
    ...table(
      ['program', 'median', 'fastest', 'CPU, median'],
      medians.map(({ name, wallMs, leastMs, cpuMs }) => [
        name,
        ...[wallMs, leastMs, cpuMs].map((ms) => `${format(ms)} ms`),
      ]),
    ),
    '',
    ...startNotes,
    '',
    '## Reaction',
    '',
    `Rollouts of one pod, ${2 * sizes.reactions} runs: the time from the write in the API server until the log line arrives, or until the`,
    'process has ended. A failed rollout also reads its evidence.',
    '',
    ...table(
      ['from the write to', 'median', 'fastest', 'slowest'],
      [
        ['the log line', reaction.line] as const,
        ['the exit when ready', reaction.ready] as const,
        ['the last line when failed', reaction.failed] as const,
        ['the exit when failed', reaction.end] as const,
      ].map(([name, times]) => [
        name,
        ...[median(times), Math.min(...times), Math.max(...times)].map((ms) => `${ms} ms`),
      ]),
    ),
    '',
    '## Large rollout',
    '',
    `${sizes.deployments} Deployments with ${pods} pods in ten namespaces become ready within ${sizes.durationMs / 1000} s: ${scale.podEvents} events`,
    `of pods, ${format(scale.cpuMs / 1000)} s of CPU time, ${scale.requests} requests.`,
    '',
    ...table(
      ['version', 'largest memory', 'CPU', 'exit after the last event'],
      [...scales].map(([name, { rssMb, cpuMs, exitMs }]) => [
        name,
        `${format(rssMb)} MB`,
        `${format(cpuMs / 1000)} s`,
        `${format(exitMs)} ms`,
      ]),
    ),
    '',
    ...scaleNotes,
    '',
    '## Hostile input',
    '',
    `Rollouts that never become ready, replayed: ${sizes.events} events about one pod, and ${sizes.missing} missing targets.`,
    '',
    ...table(
      ['version', 'CPU for the events', 'CPU for the missing targets'],
      [...bounds].map(([name, { events, missing }]) => [
        name,
        ...[events.cpuMs, missing.cpuMs].map((ms) => `${format(ms / 1000)} s`),
      ]),
    ),
  ].join('\n')}\n`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3)
}
