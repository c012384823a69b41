import { systemClock } from '../cluster/clock.ts'
import { quote } from '../errors.ts'
import { displayName } from '../plan/target.ts'
import type { Part } from '../trace/changes.ts'
import { Changes, type ObjectChange } from '../trace/changes.ts'
import { type ChangeListener, followChanges } from '../trace/follow.ts'
import { paintLine } from '../trace/line.ts'
import { Readiness } from '../trace/readiness.ts'
import { changeJson, changeLines } from '../trace/render-changes.ts'
import { changeTargets } from '../trace/view-targets.ts'
import type { Arguments } from './arguments.ts'
import { type Surface, tell, usesColor } from './output.ts'
import { cancelledCode } from './verdict.ts'
import { noteMissingNamespace, runView } from './view.ts'

/** `status`: the `.status` of objects, and what changes in it. Returns the exit code. */
export function status(args: Arguments, surface: Surface): Promise<number> {
  return showChanges('status', args, surface)
}

/** `changes`: whole objects, and what changes in them. Returns the exit code. */
export function changes(args: Arguments, surface: Surface): Promise<number> {
  return showChanges('object', args, surface)
}

async function showChanges(part: Part, args: Arguments, surface: Surface): Promise<number> {
  const { stdout, stderr, cancelled } = surface
  const format = args.given.get('output') ?? 'text'
  const isJson = format === 'json'
  const message = `${quote(format)} is not one of text, json.`
  const mistakes = isJson || format === 'text' ? [] : [{ input: '--output', message }]
  return runView(
    args,
    surface,
    part === 'status' ? 'status' : 'changes',
    mistakes,
    async ({ inputs, references, cluster, resources }) => {
      const followed = changeTargets(references, resources, cluster.namespace)
      const startedAt = systemClock.now()
      const { settleTimeMs: settleMs, maxRestarts } = inputs
      const { serverOffsetMs } = cluster
      const readiness = args.given.has('until-ready')
        ? new Readiness(followed, { startedAt, serverOffsetMs, settleMs, maxRestarts })
        : undefined
      const missing = new Map<string, Promise<void>>()
      const color = usesColor(stdout, args.given.get('color'))
      const onChange = (change: ObjectChange) => {
        const lines = isJson
          ? [changeJson(change, startedAt)]
          : changeLines(change, startedAt).map((each) => paintLine(each, { color }))
        stdout.write(lines.map((each) => `${each}\n`).join(''))
      }
      const options = { clock: systemClock, cancelled }
      const requests = followed.subjects.map(({ request }) => request)
      const listener: ChangeListener = {
        onChange,
        onWaiting: ({ name, labelSelector, ...request }) => {
          const what = displayName({
            ...request,
            name: name ?? '',
            ...(name === undefined ? { selector: labelSelector ?? '' } : {}),
          })
          tell(
            stderr,
            `Waiting for ${what}${request.namespace === undefined ? '' : ` in ${request.namespace}`} to be created.`,
          )
          const { namespace = '' } = request
          if (namespace !== '' && !missing.has(namespace))
            missing.set(namespace, noteMissingNamespace(namespace, cluster, surface))
        },
        onTrouble: (words) =>
          tell(
            stderr,
            words === undefined ? 'The server answers again.' : `The server does not answer at present: ${words}`,
          ),
      }
      const changes = new Changes(part, followed.isExcluded)
      const isReady = await followChanges(requests, changes, cluster, options, listener, readiness)
      return isReady ? 0 : cancelledCode
    },
  )
}
