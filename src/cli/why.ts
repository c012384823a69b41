import { systemClock } from '../cluster/clock.ts'
import { isFailure, type WatchRequest } from '../cluster/feed.ts'
import type { EventConsumer } from '../cluster/follower.ts'
import { Semaphore } from '../cluster/semaphore.ts'
import { explain } from '../diagnosis/explain.ts'
import type { Mistake } from '../errors.ts'
import type { Reporter } from '../exit.ts'
import { Gate } from '../gate/gate.ts'
import { eventKind } from '../gate/gated-targets.ts'
import { lookAt } from '../gate/look.ts'
import { redactRecord } from '../gate/redact-record.ts'
import type { RunRecord } from '../gate/run-record.ts'
import { lookSettings } from '../gate/settings.ts'
import { isJudged } from '../lifecycle/rules.ts'
import { namespaceObjects } from '../plan/namespace-objects.ts'
import { plain, printableJson } from '../report/escape.ts'
import { buildReport } from '../report/json-report.ts'
import { renderLook } from '../report/why.ts'
import { followGate, withPlan } from '../rollout/rollout.ts'
import type { Rollout } from '../rollout/rollout-inputs.ts'
import { lookMs, releaseListsAtOnce } from '../thresholds.ts'
import type { Arguments } from './arguments.ts'
import { flagAsWritten, showWithInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOf,
  isInteractive,
  printLines,
  printMessage,
  usesColor,
} from './output.ts'
import { runRecordedView } from './recorded-views.ts'

/**
 * `why`: one look at what is not ready, and why. Returns 1 if something failed or has a problem that stands in its way, else 0,
 * also while it progresses.
 */
export async function why(args: Arguments, context: CommandContext): Promise<number> {
  const mistakes = flagMistakes(args)
  if (args.flags.has('recording')) {
    return runRecordedView('why', args, context, mistakes, async ({ settings, index, targets, until, play }) => {
      const gate = new Gate(targets, lookSettings(settings), (request) => index.hasAnswer(request))
      await play((event) => gate.handle(event))
      gate.advance(until)
      const look = explain(lookAt(gate, until), gate.store, settings.serverOffsetMs, new Map(), true)
      return print(redactRecord(look, context.secrets.redact), args, context)
    })
  }
  const startedAt = systemClock.now()
  const options = { mistakes, needsReference: false, isReported: args.flags.has('json') }
  return showWithInputs('why', args, context, options, async (inputs) => {
    const { cancelled, stderr } = context
    const connection = connectionOf(context)
    const rollout: Rollout = { ...inputs, reporter: quietReporter(stderr), ...connection, cancelled, isLook: true }
    const isUnnamed = inputs.references.references.length === 0 && inputs.references.skipped.length === 0
    const record = await look(isUnnamed ? { ...rollout, ...wholeNamespace(args) } : rollout, startedAt)
    return record === undefined || cancelled.aborted ? cancelledCode : print(record, args, context)
  })
}

function flagMistakes(args: Arguments): readonly Mistake[] {
  if (!args.flags.has('all-namespaces') || args.references.length === 0) return []
  const message =
    'It stands for everything in all namespaces. Leave the references out, or name their namespace with -n.'
  return [{ input: flagAsWritten(args, 'all-namespaces'), message }]
}

/** Finds the references for a call without references: all objects of the namespace, or of all namespaces. */
function wholeNamespace({ flags, referenceFlags }: Arguments): Pick<Rollout, 'findReferences'> {
  const slots = new Semaphore(releaseListsAtOnce)
  return {
    findReferences: async (cluster, kinds) => {
      const namespace = flags.has('all-namespaces') ? undefined : cluster.namespace
      const scope = { namespace, labelSelector: referenceFlags.get('selector') }
      const list = (request: WatchRequest) =>
        slots.run(() => cluster.selectPresent(request, request.labelSelector !== undefined))
      const events = list({ ...eventKind, namespace })
      const references = await namespaceObjects(kinds, scope, isJudged, list)
      await events
      return references
    },
  }
}

/**
 * Looks at the targets once: reads the first lists, and the evidence for targets that are not ready.
 * @returns undefined if cancelled
 * @throws UserError for invalid input
 */
function look(rollout: Rollout, startedAt: number): Promise<RunRecord | undefined> {
  return withPlan(rollout, startedAt, async (plan, settings, cluster, exit) => {
    const consumerOf = (gate: Gate) => untilListed(gate, systemClock.now() + lookMs)
    const gate = await followGate(rollout, plan, lookSettings(settings), cluster, exit, () => [], { consumerOf })
    const now = systemClock.now()
    gate.advance(now)
    return exit.redact(explain(lookAt(gate, now), gate.store, settings.serverOffsetMs, plan.manifests, true))
  })
}

/** A gate until all first lists have arrived, or until `endsAt`. */
function untilListed(gate: Gate, endsAt: number): EventConsumer {
  let isOver = gate.isComplete
  return {
    get requests() {
      return gate.requests
    },
    get isOver() {
      return isOver
    },
    handle(event) {
      gate.handle(event)
      if (event.type === 'SYNCED' || isFailure(event)) isOver = gate.isComplete
    },
    nextDeadline: () => ({ at: endsAt, needsAnswers: false }),
    advance() {
      isOver = true
    },
    requestsToConfirm: () => [],
  }
}

/** Prints only what concerns the inputs. */
function quietReporter(stderr: CommandContext['stderr']): Reporter {
  return {
    onHead: ({ notices }) =>
      printLines(
        stderr,
        notices.map((text) => plain(text)),
      ),
    onEntry: () => {},
    onLog: () => {},
    onWarning: (text) => printMessage(stderr, `Warning: ${text}`),
  }
}

function print(record: RunRecord, { flags }: Arguments, context: CommandContext): number {
  const { stdout, env } = context
  if (flags.has('json')) stdout.write(`${printableJson(buildReport(record))}\n`)
  else
    printLines(
      stdout,
      renderLook(record, {
        color: usesColor(stdout, flags.get('color')),
        groups: env['GITHUB_ACTIONS'] === 'true' && !isInteractive(stdout, env),
      }),
    )
  const { outcome } = record
  return outcome === 'progressing' || outcome === 'ready' ? 0 : 1
}
