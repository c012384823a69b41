import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { getState, saveState } from '@actions/core'
import { type Clock, sleep } from '../cluster/clock.ts'
import type { Outcome } from '../gate/outcome.ts'
import type { ExtraName } from '../inputs.ts'
import { actionEndMs } from '../thresholds.ts'
import type { Opened } from './extra.ts'

/* The state that the action passes to its post step: which objects on GitHub are still open. */

/** The data that the action passes to its post step. It contains no token. */
export interface OpenObjects {
  /** The process of the action, and the absolute path of its program. */
  readonly pid: number
  readonly program: string
  /** Undefined while the gate has no verdict. `title` is safe to print. */
  readonly verdict?: { readonly outcome: Outcome; readonly title: string } | undefined
  /** The objects on GitHub that show no outcome yet. Never empty. */
  readonly open: readonly Opened[]
}

/** The name of the state. The launcher `post.ts` reads it as the variable `STATE_open`. */
const stateName = 'open'

/** Saves the open objects of the extras. The runner keeps the last saved state, even if the process is killed. */
export class JobState {
  readonly #open = new Map<ExtraName, Opened>()
  #verdict: OpenObjects['verdict']

  readonly opened = (opened: Opened): void => {
    if (this.#open.get(opened.extra)?.id === opened.id) return
    this.#open.set(opened.extra, opened)
    this.#save()
  }

  readonly closed = (extra: ExtraName): void => {
    if (this.#open.delete(extra)) this.#save()
  }

  /** Saves the verdict. Only the first call counts: a later crash does not change the verdict. */
  readonly decided = (verdict: OpenObjects['verdict']): void => {
    this.#verdict ??= verdict
    if (this.#open.size > 0) this.#save()
  }

  #save(): void {
    // Without this file, `saveState` would print an obsolete command.
    if (!existsSync(process.env['GITHUB_STATE'] ?? '')) return
    const left: OpenObjects = {
      pid: process.pid,
      program: process.argv[1] ?? '',
      verdict: this.#verdict,
      open: [...this.#open.values()],
    }
    saveState(stateName, left.open.length === 0 ? '' : left)
  }
}

/** The objects that the action did not close; undefined if all are closed. @throws SyntaxError for an invalid state */
export function readOpenObjects(): OpenObjects | undefined {
  const text = getState(stateName)
  return text === '' ? undefined : (JSON.parse(text) as OpenObjects)
}

const never = new AbortController().signal

/**
 * Ends the action's process if it still runs. In a `container:` job, the runner's signals reach only the `docker exec`
 * outside of the container. The process continues, and would show the rollout as in progress again.
 * @returns whether the process has ended by itself, so that it has shown the outcome `cancelled`
 */
export async function endAction(
  { pid, program }: Pick<OpenObjects, 'pid' | 'program'>,
  clock: Clock,
): Promise<boolean> {
  const isRunning = () => runningProgram(pid) === program
  if (!isRunning() || !sendSignal(pid, 'SIGINT')) return false
  const endsAt = clock.now() + actionEndMs
  while (isRunning() && clock.now() < endsAt) await sleep(clock, 100, never)
  if (!isRunning()) return true
  sendSignal(pid, 'SIGKILL')
  return false
}

/** Sends a signal. Returns false if the process has ended, or belongs to another user. */
function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The script that a Node process runs. Undefined if the process has ended, and on systems other than Linux. */
function runningProgram(pid: number): string | undefined {
  try {
    const [, script] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return script && resolve(script)
  } catch {
    return undefined
  }
}
