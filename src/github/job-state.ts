import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { getState, saveState } from '@actions/core'
import { type Clock, sleep } from '../cluster/clock.ts'
import type { Outcome } from '../gate/outcome.ts'
import type { ExtraName } from '../inputs.ts'
import { actionEndMs } from '../thresholds.ts'
import type { Opened } from './extra.ts'

/** The data that the action passes to its step at the end of the job, without a token. */
export interface LeftOpen {
  /** The process of the action, and the absolute path of its program. */
  readonly pid: number
  readonly program: string
  /** Undefined if the gate has no verdict yet. `title` is safe to print. */
  readonly verdict?: { readonly outcome: Outcome; readonly title: string } | undefined
  /** The objects on GitHub that show no outcome yet. Not empty. */
  readonly open: readonly Opened[]
}

/** The launcher `post.ts` reads the variable `STATE_open`. */
const stateName = 'open'

/** Records the open objects of the extras. The runner keeps the last record, also if the process is killed. */
export class JobState {
  readonly #open = new Map<ExtraName, Opened>()
  #verdict: LeftOpen['verdict']

  readonly opened = (opened: Opened): void => {
    if (this.#open.get(opened.extra)?.id === opened.id) return
    this.#open.set(opened.extra, opened)
    this.#save()
  }

  readonly closed = (extra: ExtraName): void => {
    if (this.#open.delete(extra)) this.#save()
  }

  /** The first verdict counts: a crash after it does not change it. */
  readonly decided = (verdict: LeftOpen['verdict']): void => {
    this.#verdict ??= verdict
    if (this.#open.size > 0) this.#save()
  }

  #save(): void {
    // Without this file, the function would print an obsolete command instead.
    if (!existsSync(process.env['GITHUB_STATE'] ?? '')) return
    const left: LeftOpen = {
      pid: process.pid,
      program: process.argv[1] ?? '',
      verdict: this.#verdict,
      open: [...this.#open.values()],
    }
    saveState(stateName, left.open.length === 0 ? '' : left)
  }
}

/** What the action of this job left open; undefined if nothing is open. @throws SyntaxError for a state of another program */
export function readLeftOpen(): LeftOpen | undefined {
  const text = getState(stateName)
  return text === '' ? undefined : (JSON.parse(text) as LeftOpen)
}

const never = new AbortController().signal

/**
 * Ends the action's process if it is still running. In a `container:` job, the runner sends its signals to the `docker
 * exec` outside of the container, and the process continues: it would show the rollout as in progress again.
 * @returns whether the process was running and ended by itself, which shows the outcome `cancelled`
 */
export async function endAction({ pid, program }: Pick<LeftOpen, 'pid' | 'program'>, clock: Clock): Promise<boolean> {
  const isRunning = () => programOf(pid) === program
  if (!isRunning() || !sendSignal(pid, 'SIGINT')) return false
  const endsAt = clock.now() + actionEndMs
  while (isRunning() && clock.now() < endsAt) await sleep(clock, 100, never)
  if (!isRunning()) return true
  sendSignal(pid, 'SIGKILL')
  return false
}

/** Returns false if the process has just ended, or belongs to another user. */
function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The script that a Node process runs; undefined if it has ended, and on systems other than Linux. */
function programOf(pid: number): string | undefined {
  try {
    const [, script] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return script && resolve(script)
  } catch {
    return undefined
  }
}
