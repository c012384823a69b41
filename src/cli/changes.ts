import { systemClock } from '../cluster/clock.ts'
import { quote } from '../plan/complain.ts'
import { displayName } from '../plan/target.ts'
import { Changes, type ObjectChange } from '../trace/changes/changes.ts'
import type { Part } from '../trace/changes/part.ts'
import { changeJson, changeLines } from '../trace/changes/render.ts'
import { followChanges } from '../trace/follow.ts'
import { paintLine } from '../trace/line.ts'
import { changeSubjects } from '../trace/subjects.ts'
import type { Arguments } from './arguments.ts'
import { type Surface, tell, usesColor } from './output.ts'
import { cancelledCode } from './verdict.ts'
import { runView } from './view.ts'

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
    async ({ parsed, cluster, resources }) => {
      const { requests, isExcluded } = changeSubjects(parsed, resources, cluster.namespace)
      const startedAt = systemClock.now()
      const color = usesColor(stdout, args.given.get('color'))
      const onChange = (change: ObjectChange) => {
        const lines = isJson
          ? [changeJson(change, startedAt)]
          : changeLines(change, startedAt).map((each) => paintLine(each, { color }))
        stdout.write(lines.map((each) => `${each}\n`).join(''))
      }
      const options = { clock: systemClock, cancelled }
      await followChanges(requests, new Changes(part, isExcluded), cluster, options, {
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
        },
        onTrouble: (words) =>
          tell(
            stderr,
            words === undefined ? 'The server is heard again.' : `Not heard from the server just now: ${words}`,
          ),
      })
      return cancelledCode
    },
  )
}
