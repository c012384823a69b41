import { Semaphore } from '../cluster/clock.ts'
import { type ApiResource, kindNameOf, type WatchRequest } from '../cluster/feed.ts'
import { compareTimestamps, controllerUidOf, type KubeObject } from '../cluster/objects.ts'
import { parseDuration } from '../duration.ts'
import { type Mistake, UserError } from '../errors.ts'
import { eventKind } from '../gate/watch-requests.ts'
import { hasReadinessCriteria } from '../lifecycle/rules.ts'
import { kindsOfRelease } from '../plan/helm-release.ts'
import { parseReferences } from '../plan/parse-references.ts'
import { displayName, type Target } from '../plan/target.ts'
import { safeLine } from '../report/escape.ts'
import type { Run } from '../run/run.ts'
import type { RunOptions, RunPlan } from '../run/run-plan.ts'
import { runOnCluster } from '../run/start-run.ts'
import { releaseListsAtOnce } from '../thresholds.ts'
import { type ChangeListener, ChangesView, type ObjectChange, type Part, renderChange } from '../views/changes.ts'
import { paintLines, stableText } from '../views/line.ts'
import { renderSingleCheck } from '../views/single-check.ts'
import { Trace, type TraceState } from '../views/trace.ts'
import { renderTrace } from '../views/trace-view.ts'
import type { Arguments } from './arguments.ts'
import { flagAsWritten, type InputOptions, inputValues, openRecording, runWithInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOptions,
  isInteractive,
  logStyle,
  printLines,
  printMessage,
  printReport,
  Screen,
  usesColor,
} from './output.ts'

/* The commands that show objects, and run no gate: `why`, `trace`, `status`, `changes`. */

interface ShowOptions extends InputOptions, Pick<RunOptions, 'findReferences'> {
  readonly purpose: 'single-check' | 'view'
}

/**
 * Opens a run on the cluster or, with `--recording`, on a recording, and shows it.
 * @param show shows the run, and returns the exit code
 */
function showRun(
  args: Arguments,
  context: CommandContext,
  { purpose, findReferences, mistakes = [], ...options }: ShowOptions,
  show: (run: Run) => Promise<number>,
): Promise<number> {
  const { flags } = args
  const { cancelled, stderr } = context
  const file = flags.get('recording')
  const all = [...mistakes]
  const atMs = readAtFlag(args, file !== undefined, all)
  return runWithInputs(args, context, { ...options, mistakes: all }, async (read) => {
    const reporter = createWarningReporter(stderr)
    if (file === undefined) {
      const options = { ...read, ...connectionOptions(context), purpose, cancelled, reporter, findReferences }
      return (await runOnCluster(options, show)) ?? cancelledCode
    }
    const { resources: _, manifests: _files, ...overrides } = inputValues(flags)
    const references = read.references.references.length === 0 ? undefined : read.references
    return show(await openRecording({ file, purpose, reporter, overrides, references, atMs }, context))
  })
}

/** A reporter that prints only warnings and notices about the inputs. */
function createWarningReporter(stderr: CommandContext['stderr']): RunOptions['reporter'] {
  return {
    onStart: (_, notices) =>
      printLines(
        stderr,
        notices.map((text) => safeLine(text)),
      ),
    onWarning: (text) => printMessage(stderr, `Warning: ${text}`),
  }
}

/** The time in `--at`, in milliseconds since the start of the gate. Undefined if absent, or after a mistake. */
function readAtFlag(args: Arguments, isRecorded: boolean, mistakes: Mistake[]): number | undefined {
  const written = args.flags.get('at')
  if (isRecorded && args.flags.has('until-ready'))
    mistakes.push({ input: '--until-ready', message: 'A recording does not go on. Leave it out.' })
  if (!isRecorded && written !== undefined)
    mistakes.push({ input: '--at', message: 'It is a moment of a recording. Name that with --recording=FILE.' })
  if (!isRecorded || written === undefined) return undefined
  const [isElapsed, hours = '0', minutes = '0', seconds = '0'] =
    /^(?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)$/.exec(written) ?? []
  if (isElapsed !== undefined) return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return parseDuration(written, (message) => {
    mistakes.push({ input: flagAsWritten(args, 'at'), message: `${message} Or write it as the log does: 0:34.` })
  })
}

/** `why`: checks once, and prints what is not ready and why. Returns 1 if a resource has failed or has a problem. */
export function why(args: Arguments, context: CommandContext): Promise<number> {
  const { flags } = args
  const { cancelled, stdout } = context
  const isJson = flags.has('json')
  const message =
    'It stands for everything in all namespaces. Leave the references out, or name their namespace with -n.'
  const isAmbiguous = flags.has('all-namespaces') && args.references.length > 0
  const options = {
    purpose: 'single-check',
    mistakes: isAmbiguous ? [{ input: flagAsWritten(args, 'all-namespaces'), message }] : [],
    needsReference: false,
    findReferences: createNamespaceFinder(args),
  } as const
  return showRun(args, context, options, async (run) => {
    const record = await run.checkOnce()
    if (cancelled.aborted) return cancelledCode
    if (isJson) printReport(stdout, record)
    else printLines(stdout, renderSingleCheck(record, logStyle(stdout, flags, context)))
    return record.outcome === 'progressing' || record.outcome === 'ready' ? 0 : 1
  })
}

/**
 * Returns a function that finds the objects of the namespace (or of all namespaces) that a rule can judge, if the user
 * names none. If the controller of an object is included, the object is not: the controller has its problems. The newest
 * Job of each controller, such as a CronJob, is included.
 */
function createNamespaceFinder({ flags }: Arguments): RunOptions['findReferences'] {
  const slots = new Semaphore(releaseListsAtOnce)
  return async (cluster, resources) => {
    const namespace = flags.has('all-namespaces') ? undefined : cluster.namespace
    const labelSelector = flags.get('selector')
    const list = (request: WatchRequest) =>
      slots.run(() => cluster.tryListObjects(request, request.labelSelector !== undefined))
    const isWanted = (resource: ApiResource) => resource.namespaced && hasReadinessCriteria(kindNameOf(resource))
    const events = list({ ...eventKind, namespace })
    const lists = kindsOfRelease(resources, isWanted).map(async (resource) => {
      const objects = await list({ ...kindNameOf(resource), namespace, labelSelector })
      return objects?.map((object) => ({ resource, object })) ?? []
    })
    const found = (await Promise.all(lists)).flat()
    await events
    const uids = new Set(found.map(({ object }) => object.metadata.uid))
    const newest = newestJobs(found.map(({ object }) => object))
    const lines = found
      .filter(({ object }) => !uids.has(controllerUidOf(object) ?? '') || newest.has(object))
      .map(({ resource: { group, version, plural }, object: { metadata } }) => {
        const kind = group === '' ? plural : `${plural}.${version}.${group}`
        return `${kind}/${metadata.name} -n ${metadata.namespace}`
      })
    return parseReferences(lines.join('\n'), 'the namespace', { alone: false })
  }
}

/** A context that also cancels the command when nobody reads its output: a view has no other use. */
function cancelWithOutput(context: CommandContext): CommandContext {
  return { ...context, cancelled: AbortSignal.any([context.cancelled, context.outputEnded]) }
}

/** `trace`: shows a resource and its dependent objects, live or from a recording. Returns the exit code. */
export function trace(args: Arguments, commandContext: CommandContext): Promise<number> {
  const context = cancelWithOutput(commandContext)
  return showRun(args, context, { purpose: 'view' }, async (run) => {
    const { plan, output } = run
    const { settings } = plan
    const target = requireSingleTarget(plan)
    const { startedAt, isTimeoutSetByUser } = settings
    const endsWhenReady = args.flags.has('until-ready')
    const timeoutMs = target.clocks.timeoutMs ?? (isTimeoutSetByUser ? settings.timeoutMs : 0)
    const drawing = openDrawing(args, context, run.isLive)
    let isReady = false
    const view = new Trace(target, settings, run, (state) => {
      output.push(() => drawing.draw(state))
      isReady = endsWhenReady && state.isReady
      return isReady || (timeoutMs > 0 && state.now >= startedAt + timeoutMs)
    })
    try {
      await run.follow(view)
    } finally {
      drawing.close()
    }
    if (context.cancelled.aborted) return cancelledCode
    if (isReady || !endsWhenReady) return 0
    printMessage(context.stderr, 'The resource was not ready in time.')
    return 1
  })
}

interface Drawing {
  draw(state: TraceState): void
  /** Restores the cursor. The last state stays on the terminal. */
  close(): void
}

/**
 * Redraws the trace in place on a terminal. Elsewhere, prints each state that differs from the last.
 * @param isLive whether the state can change
 */
export function openDrawing(
  { flags }: Pick<Arguments, 'flags'>,
  { stdout, env }: Pick<CommandContext, 'stdout' | 'env'>,
  isLive = true,
): Drawing {
  const paint = { color: usesColor(stdout, flags.get('color')), redact: stdout.redact }
  if (isLive && isInteractive(stdout, env)) {
    const screen = new Screen(stdout)
    let last: readonly string[] = []
    return {
      draw(state) {
        const { columns, rows } = screen
        last = renderTrace(state, rows - 1)
          .flatMap((line) => paintLines(line, { ...paint, columns }))
          .slice(0, rows - 1)
        screen.print([], last)
      },
      close() {
        screen.close()
        printLines(stdout, last)
      },
    }
  }
  let printed: string | undefined
  return {
    draw(state) {
      if (isLive && state.isLoading) return
      const lines = renderTrace(state)
      const text = stableText(lines)
      if (text === printed) return
      // An empty line separates two states.
      printLines(stdout, [...(printed === undefined ? [] : ['']), ...lines.flatMap((line) => paintLines(line, paint))])
      printed = text
    },
    close() {},
  }
}

/** `status` and `changes`: prints a part of objects, then its changes. Returns the exit code. */
export function changes(part: Part, args: Arguments, commandContext: CommandContext): Promise<number> {
  const context = cancelWithOutput(commandContext)
  const { stdout } = context
  const format = args.flags.get('output') ?? 'text'
  const printing = { format, color: usesColor(stdout, args.flags.get('color')), redact: stdout.redact }
  return showRun(args, context, { purpose: 'view' }, async (run) => {
    const { plan, output } = run
    const targets = requireMatches(plan)
    const gate = args.flags.has('until-ready') ? run.createGate() : undefined
    const onChange = (change: ObjectChange) =>
      output.push(() => printLines(stdout, renderChange(change, plan.settings.startedAt, printing)))
    const listener = { onChange, ...(run.isLive ? createMessagePrinter(context.stderr) : {}) }
    await run.follow(new ChangesView(targets, part, listener, run, gate))
    return context.cancelled.aborted ? cancelledCode : 0
  })
}

/** A listener that prints which targets do not exist yet, and whether the server answers. */
function createMessagePrinter(stderr: CommandContext['stderr']): Pick<ChangeListener, 'onWaiting' | 'onConnection'> {
  return {
    onWaiting: (target) => {
      const { namespace } = target
      const where = namespace === undefined ? '' : ` in ${namespace}`
      printMessage(stderr, `Waiting for ${displayName(target)}${where} to be created.`)
    },
    onConnection: (error) =>
      printMessage(
        stderr,
        error === undefined ? 'The server answers again.' : `The server does not answer at present: ${error}`,
      ),
  }
}

/** The targets of a plan. @throws UserError if a selector matches nothing */
function requireMatches(plan: RunPlan): readonly Target[] {
  const unmatched = plan.targets.find(({ selector }) => selector !== undefined)
  if (unmatched !== undefined) throw referenceMistake(`${displayName(unmatched)} matches nothing.`)
  return plan.targets
}

/** The only target of a plan, for `trace`. @throws UserError if there are several or none */
function requireSingleTarget(plan: RunPlan): Target {
  const [target, ...others] = requireMatches(plan)
  if (target === undefined) throw referenceMistake('trace shows one resource, and none is named. Write deployment/web.')
  if (others.length === 0) return target
  throw referenceMistake(
    `trace shows one resource, and ${plan.targets.length} are named. Write one of them, or use changes or status for all.`,
  )
}

function referenceMistake(message: string): UserError {
  return new UserError([{ input: 'REFERENCE', message }])
}

function newestJobs(objects: readonly KubeObject[]): ReadonlySet<KubeObject> {
  const jobs = objects.filter((object) => object.kind === 'Job' && controllerUidOf(object) !== undefined)
  const created = ({ metadata }: KubeObject) => metadata.creationTimestamp
  return new Set(
    [...Map.groupBy(jobs, controllerUidOf).values()].flatMap((ofController) =>
      ofController.toSorted((a, b) => compareTimestamps(created(b), created(a))).slice(0, 1),
    ),
  )
}
