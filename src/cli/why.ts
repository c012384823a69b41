import { Semaphore } from '../cluster/clock.ts'
import type { WatchRequest } from '../cluster/feed.ts'
import type { Mistake } from '../errors.ts'
import { eventKind } from '../gate/watch-requests.ts'
import { needsMoreThanToExist } from '../lifecycle/rules.ts'
import { namespaceObjects } from '../plan/namespace-objects.ts'
import { printableJson } from '../report/escape.ts'
import { buildReport } from '../report/json-report.ts'
import { renderLook } from '../report/why.ts'
import type { RunOptions } from '../run/run-inputs.ts'
import { releaseListsAtOnce } from '../thresholds.ts'
import type { Arguments } from './arguments.ts'
import { flagAsWritten } from './inputs.ts'
import { type CommandContext, cancelledCode, isInteractive, printLines, usesColor } from './output.ts'
import { showRun } from './show-run.ts'

/**
 * `why`: one look at what is not ready, and why. Returns 1 if something failed or has a problem that stands in its way, else 0,
 * also while it progresses.
 */
export function why(args: Arguments, context: CommandContext): Promise<number> {
  const { flags } = args
  const { cancelled, stdout, env } = context
  const isJson = flags.has('json')
  const options = {
    purpose: 'look',
    mistakes: flagMistakes(args),
    needsReference: false,
    isReported: isJson,
    findReferences: wholeNamespace(args),
  } as const
  return showRun('why', args, context, options, async (run) => {
    const record = await run.look()
    if (cancelled.aborted) return cancelledCode
    const groups = env['GITHUB_ACTIONS'] === 'true' && !isInteractive(stdout, env)
    if (isJson) stdout.write(`${printableJson(buildReport(record))}\n`)
    else printLines(stdout, renderLook(record, { color: usesColor(stdout, flags.get('color')), groups }))
    return record.outcome === 'progressing' || record.outcome === 'ready' ? 0 : 1
  })
}

function flagMistakes(args: Arguments): readonly Mistake[] {
  if (!args.flags.has('all-namespaces') || args.references.length === 0) return []
  const message =
    'It stands for everything in all namespaces. Leave the references out, or name their namespace with -n.'
  return [{ input: flagAsWritten(args, 'all-namespaces'), message }]
}

/** Finds the references for a call without references: all objects of the namespace, or of all namespaces. */
function wholeNamespace({ flags, referenceFlags }: Arguments): RunOptions['findReferences'] {
  const slots = new Semaphore(releaseListsAtOnce)
  return async (cluster, kinds) => {
    const namespace = flags.has('all-namespaces') ? undefined : cluster.namespace
    const scope = { namespace, labelSelector: referenceFlags.get('selector') }
    const list = (request: WatchRequest) =>
      slots.run(() => cluster.selectPresent(request, request.labelSelector !== undefined))
    const events = list({ ...eventKind, namespace })
    const references = await namespaceObjects(kinds, scope, needsMoreThanToExist, list)
    await events
    return references
  }
}
