import { systemClock } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { isNotFound } from '../cluster/failures.ts'
import type { ApiResource } from '../cluster/feed.ts'
import type { KindName } from '../cluster/objects.ts'
import { TextQueue } from '../cluster/text-queue.ts'
import type { Mistake } from '../errors.ts'
import { Gate } from '../gate/gate.ts'
import { type GateSettings, gateSettings, viewSettings } from '../gate/settings.ts'
import type { Inputs } from '../inputs.ts'
import { catalogueFor } from '../lifecycle/rules.ts'
import { displayName } from '../plan/target.ts'
import { connectTo } from '../rollout/rollout-inputs.ts'
import type { Part } from '../trace/changes.ts'
import { type ChangeListener, ChangesView, follow, traceView } from '../trace/follow.ts'
import { paintLines, stableText } from '../trace/line.ts'
import { Trace, type TraceState } from '../trace/trace.ts'
import { renderTrace } from '../trace/trace-view.ts'
import { onlyTarget, viewTargets } from '../trace/view-targets.ts'
import type { Arguments } from './arguments.ts'
import { changePrinter, readFormat } from './change-printer.ts'
import { type CommandInputs, showWithInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOf,
  isInteractive,
  printLines,
  printMessage,
  Screen,
  usesColor,
} from './output.ts'

interface View extends CommandInputs {
  readonly cluster: Cluster
  readonly kinds: readonly ApiResource[]
}

/**
 * Connects to the cluster for a view, and closes the connection at the end or on cancellation.
 * @param name the name of the command, shown in an example
 * @param mistakes found in the flags of the command
 * @param show returns the exit code
 */
function runView(
  name: string,
  args: Arguments,
  context: CommandContext,
  mistakes: readonly Mistake[],
  show: (view: View) => Promise<number>,
): Promise<number> {
  const { cancelled } = context
  return showWithInputs(name, args, context, { mistakes }, async (inputs) => {
    const cluster = connectTo(inputs.inputs, connectionOf(context))
    const close = () => cluster.close()
    cancelled.addEventListener('abort', close)
    try {
      return await show({ ...inputs, cluster, kinds: await cluster.discover() })
    } finally {
      cancelled.removeEventListener('abort', close)
      close()
    }
  })
}

/** The settings of the gate that judges the objects of a view. */
async function settingsOf(
  inputs: Inputs,
  { context, version = '', serverOffsetMs }: Cluster,
  kinds: readonly KindName[],
): Promise<GateSettings> {
  const startedAt = systemClock.now()
  const catalogue = await catalogueFor(kinds)
  return gateSettings(inputs, { startedAt, context, serverVersion: version, serverOffsetMs, catalogue })
}

/** Ends a view, which has no other purpose, together with its output. */
function endingWithOutput(context: CommandContext): CommandContext {
  return { ...context, cancelled: AbortSignal.any([context.cancelled, context.outputEnded]) }
}

/** `trace`: shows a resource and everything behind it, live. Returns the exit code. */
export async function trace(args: Arguments, given: CommandContext): Promise<number> {
  const context = endingWithOutput(given)
  if (args.flags.has('recording')) return (await import('./recorded-views.ts')).traceRecording(args, context)
  return runView('trace', args, context, [], async ({ inputs, references, cluster, kinds }) => {
    const target = onlyTarget(await viewTargets(references, kinds, cluster), references)
    await reportMissingNamespace(target.namespace, cluster, context)
    const settings = await settingsOf(inputs, cluster, [target])
    const { startedAt } = settings
    const traced = new Trace(target, settings)
    const drawing = openDrawing(args, context)
    const endsWhenReady = args.flags.has('until-ready')
    const timeoutMs = target.clocks.timeoutMs ?? (inputs.written.has('timeout') ? inputs.timeoutMs : 0)
    let isReady = false
    const texts = new TextQueue(systemClock)
    try {
      const options = { clock: systemClock, texts, cancelled: context.cancelled }
      const { apiVersion, kind, namespace } = target
      let isRead = false
      const readNames = async () => {
        if (isRead) return
        isRead = true
        traced.existing = (await cluster.select({ apiVersion, kind, namespace })).map(({ metadata }) => metadata.name)
      }
      const view = traceView(target, traced, (state) => {
        // Without permission to list, the view shows no names.
        if (!state.isLoading && state.traced === undefined) void readNames().catch(() => {})
        texts.push(() => drawing.draw(state))
        isReady = endsWhenReady && state.isReady
        return isReady || (timeoutMs > 0 && state.now >= startedAt + timeoutMs)
      })
      if (!(await follow(view, cluster, options))) return cancelledCode
    } finally {
      drawing.close()
    }
    if (isReady || !endsWhenReady) return 0
    printMessage(context.stderr, 'The resource was not ready in time.')
    return 1
  })
}

interface Drawing {
  draw(state: TraceState): void
  /** Leaves the last state on the terminal, and restores the cursor. */
  close(): void
}

/** On a terminal, redraws the trace in place; elsewhere, prints each different state. */
export function openDrawing(
  { flags }: Pick<Arguments, 'flags'>,
  { stdout, env }: Pick<CommandContext, 'stdout' | 'env'>,
): Drawing {
  const paint = { color: usesColor(stdout, flags.get('color')), redact: stdout.redact }
  if (isInteractive(stdout, env)) {
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
  let printed = ''
  return {
    draw(state) {
      if (state.isLoading) return
      const lines = renderTrace(state)
      const text = stableText(lines)
      if (text !== printed) printLines(stdout, [...lines.flatMap((line) => paintLines(line, paint)), ''])
      printed = text
    },
    close() {},
  }
}

/** `status`: prints the `.status` of objects and its changes. Returns the exit code. */
export function status(args: Arguments, context: CommandContext): Promise<number> {
  return showChanges('status', 'status', args, context)
}

/** `changes`: prints whole objects and their changes. Returns the exit code. */
export function changes(args: Arguments, context: CommandContext): Promise<number> {
  return showChanges('changes', 'object', args, context)
}

async function showChanges(name: string, part: Part, args: Arguments, given: CommandContext): Promise<number> {
  const context = endingWithOutput(given)
  const { mistakes, printing } = readFormat(args, context)
  const isRecorded = args.flags.has('recording')
  if (isRecorded)
    return (await import('./recorded-views.ts')).showRecordedChanges(name, part, args, context, mistakes, printing)
  return runView(name, args, context, mistakes, async ({ inputs, references, cluster, kinds }) => {
    const targets = await viewTargets(references, kinds, cluster)
    const settings = await settingsOf(inputs, cluster, targets)
    const endsWhenReady = args.flags.has('until-ready')
    const texts = new TextQueue(systemClock)
    const print = (lines: () => readonly string[]) => texts.push(() => printLines(context.stdout, lines()))
    const listener = { ...messagesTo(context, cluster), ...changePrinter(part, settings.startedAt, printing, print) }
    const isJudged = endsWhenReady || listener.onOverview !== undefined
    const gate = isJudged ? new Gate(targets, viewSettings(settings), () => true) : undefined
    const view = new ChangesView(targets, part, listener, { gate, endsWhenReady })
    const isReady = await follow(view, cluster, { clock: systemClock, texts, cancelled: context.cancelled })
    return isReady ? 0 : cancelledCode
  })
}

/** Prints what the view waits for, and whether the server answers. */
function messagesTo(context: CommandContext, cluster: Cluster): Pick<ChangeListener, 'onWaiting' | 'onConnection'> {
  const { stderr } = context
  const checkedNamespaces = new Set<string>()
  return {
    onWaiting: (target) => {
      const { namespace } = target
      const where = namespace === undefined ? '' : ` in ${namespace}`
      printMessage(stderr, `Waiting for ${displayName(target)}${where} to be created.`)
      if (!namespace || checkedNamespaces.has(namespace)) return
      checkedNamespaces.add(namespace)
      void reportMissingNamespace(namespace, cluster, context)
    },
    onConnection: (error) =>
      printMessage(
        stderr,
        error === undefined ? 'The server answers again.' : `The server does not answer at present: ${error}`,
      ),
  }
}

/** Prints nothing if the server does not answer or namespaces cannot be read. */
async function reportMissingNamespace(
  name: string | undefined,
  cluster: Pick<Cluster, 'get'>,
  { stderr }: Pick<CommandContext, 'stderr'>,
): Promise<void> {
  if (name === undefined) return
  const isMissing = await cluster.get({ apiVersion: 'v1', kind: 'Namespace', name }).then(() => false, isNotFound)
  if (isMissing) printMessage(stderr, `Namespace ${name} does not exist.`)
}
