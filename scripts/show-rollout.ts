import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readHeader } from '../src/recording/reader.ts'
import { startApiServer } from '../test/support/api-server.ts'
import { playRecording } from '../test/support/play-recording.ts'
import { recordingPath } from '../test/support/recordings.ts'
import { type ActionRun, startAction } from '../test/support/runner.ts'

export interface Show {
  /** Of a recording in `test/recordings/`. */
  readonly name: string
  /** The file to run as the action, relative to the repository. */
  readonly entry: string
  /** Where the run leaves its files. */
  readonly folder: string
  /** The file that job summaries are appended to. */
  readonly summaryFile: string
  /** Recorded time for each second of real time. */
  readonly speed: number
  /** Gets every line of the log as it is told, but for what speaks to GitHub's runner alone. */
  readonly print: (line: string) => void
  readonly env?: NodeJS.ProcessEnv
}

/** Lets the action gate a recorded rollout, which an API server of this process plays to it as it once happened. */
export async function showRollout({ name, entry, folder, summaryFile, speed, print, env }: Show): Promise<ActionRun> {
  const path = recordingPath(name)
  const { inputs } = await readHeader(path)
  const server = await startApiServer()
  try {
    mkdirSync(join(folder, name), { recursive: true })
    const written = {
      kubeconfig: server.kubeconfig(),
      resources: 'deployment/web',
      namespace: String(inputs['namespace']),
    }
    const onText = forEachLine((line) => {
      const shown = withoutCommands(line)
      if (shown !== undefined) print(shown)
    })
    const action = startAction(entry, join(folder, name), written, {
      env: { GITHUB_STEP_SUMMARY: summaryFile, ...env },
      onText,
    })
    const stop = new AbortController()
    const played = playRecording(server, path, { shiftTimes: true, speed, signal: stop.signal })
    const ended = await action.ended
    // What happened after the verdict is of no interest any more.
    stop.abort()
    await played.catch((error: unknown) => {
      if (!stop.signal.aborted) throw error
    })
    return ended
  } finally {
    await server.close()
  }
}

/** A line as GitHub shows it: the title of a group stays, the other commands to the runner do not. */
function withoutCommands(line: string): string | undefined {
  const [, command, data] = /^::([\w-]+)[^:]*::(.*)$/.exec(line) ?? []
  if (command === undefined) return line
  return command === 'group' ? `▾ ${data?.replaceAll('%25', '%')}` : undefined
}

function forEachLine(take: (line: string) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}
