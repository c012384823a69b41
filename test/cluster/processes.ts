import { spawn } from 'node:child_process'
import { mkdirSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { until } from './command.ts'
import { state, stateFolder } from './layout.ts'

/** A running process of the cluster. */
export interface OwnProcess {
  pid: number
  /** `etcd`, `kube-apiserver`, …, `containerd`, `containerd-shim-runc-v2` */
  component: string
}

/** The path of a component's log. */
export function logPath(component: string): string {
  return state('logs', `${component}.log`)
}

/** Starts a program that outlives this one, its output in a log. Its arguments must name the state folder. */
export function start(component: string, program: string, args: readonly string[]): void {
  mkdirSync(dirname(logPath(component)), { recursive: true })
  const log = openSync(logPath(component), 'a')
  spawn(program, args, { detached: true, stdio: ['ignore', log, log], cwd: '/' }).unref()
}

/**
 * The cluster's processes, found by what they are and by their arguments, which name the state folder: a recorded
 * number alone may have been given to another process since, and is lost with a run that was killed.
 */
export function ownProcesses(): OwnProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const component = componentOf(name)
      return component ? [{ pid: Number(name), component }] : []
    })
}

/** Ends processes at once: their state is thrown away, there is nothing that they would have to finish. */
export async function kill(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  await until(`the processes ${pids.join(', ')} have ended`, 10, () => !pids.some(isRunning))
}

/** When a process started, in the kernel's ticks since the machine did: with its number it is unique. */
export function startTime(pid: number): string | undefined {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
    return afterName.split(' ')[19]
  } catch {
    return undefined // no such process
  }
}

function isRunning(pid: number): boolean {
  try {
    // A zombie has ended; only its parent has not asked yet.
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function componentOf(pid: string): string | undefined {
  try {
    const program = basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''))
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    if (!args.some((arg) => arg.includes(`${stateFolder}/`))) return undefined
    if (program.startsWith('kube-')) return args[1]
    return program.startsWith('containerd') ? program : undefined
  } catch {
    return undefined // it ended while it was looked at
  }
}
