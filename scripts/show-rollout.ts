import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readHeader } from '../src/recording/reader.ts'
import { startApiServer } from '../test/support/api-server.ts'
import { playRecording } from '../test/support/play-recording.ts'
import { recordingPath } from '../test/support/recordings.ts'
import { type ActionRun, startAction } from '../test/support/runner.ts'

export interface ShowOptions {
  /** Name of a recording in `test/recordings/`. */
  readonly name: string
  /** The program of the action, relative to the repository. */
  readonly entry: string
  /** Folder for the files of the run. */
  readonly folder: string
  /** The job summary is appended to this file. */
  readonly summaryFile: string
  /** Seconds of recorded time for each second of real time. */
  readonly speed: number
  /** Called with each line of the log except runner commands. */
  readonly print: (line: string) => void
  readonly env?: NodeJS.ProcessEnv
}

/** Runs the action against a recorded rollout, which an API server in this process replays. */
export async function showRollout({
  name,
  entry,
  folder,
  summaryFile,
  speed,
  print,
  env,
}: ShowOptions): Promise<ActionRun> {
  const path = recordingPath(name)
  const { inputs } = await readHeader(path)
  const server = await startApiServer()
  try {
    mkdirSync(join(folder, name), { recursive: true })
    const actionInputs = {
      kubeconfig: server.kubeconfig(),
      resources: 'deployment/web',
      namespace: String(inputs['namespace']),
    }
    const onText = forEachLine((line) => {
      const shown = withoutCommands(line)
      if (shown !== undefined) print(shown)
    })
    const action = startAction(entry, join(folder, name), actionInputs, {
      env: { GITHUB_STEP_SUMMARY: summaryFile, ...env },
      onText,
    })
    const stop = new AbortController()
    const replayed = playRecording(server, path, { shiftTimes: true, speed, signal: stop.signal })
    const ended = await action.ended
    // Events after the verdict are not needed.
    stop.abort()
    await replayed.catch((error: unknown) => {
      if (!stop.signal.aborted) throw error
    })
    return ended
  } finally {
    await server.close()
  }
}

/** A line as on GitHub: the title of a group, or undefined for other runner commands. */
function withoutCommands(line: string): string | undefined {
  const [, command, data] = /^::([\w-]+)[^:]*::(.*)$/.exec(line) ?? []
  if (command === undefined) return line
  return command === 'group' ? `▾ ${data?.replaceAll('%25', '%')}` : undefined
}

function forEachLine(onLine: (line: string) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
}
