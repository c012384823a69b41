import { spawn } from 'node:child_process'
import { mkdirSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { until } from './command.ts'
import { state, stateFolder } from './layout.ts'

/** A running process of the cluster. */
export interface OwnProcess {
  pid: number
  /** `etcd`, `kube-apiserver`, …, `containerd`, `containerd-shim-runc-v2`, `operator-cert-manager` */
  component: string
}

/** Begins the names of the programs of `test/operators`, which run beside the cluster. */
export const operatorPrefix = 'operator-'

/** The path of a component's log. */
export function logPath(component: string): string {
  return state('logs', `${component}.log`)
}

/** Starts a detached program that logs to a file. Its path or its arguments must contain the state folder. */
export function start(
  component: string,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): void {
  mkdirSync(dirname(logPath(component)), { recursive: true })
  const log = openSync(logPath(component), 'a')
  spawn(program, args, { detached: true, stdio: ['ignore', log, log], cwd: '/', env }).unref()
}

/**
 * The cluster's processes, found by program and by the state folder in their arguments: a stored process id may belong to
 * another process, and a killed run may not have stored it.
 */
export function ownProcesses(): OwnProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const component = componentOf(name)
      return component ? [{ pid: Number(name), component }] : []
    })
}

/** Kills processes and waits for their end. */
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

/** Kills a component. Returns a function that starts it again with the same arguments. */
export async function killComponent(component: string): Promise<() => void> {
  const pid = processOf(component)
  const program = readlinkSync(`/proc/${pid}/exe`)
  const [, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  await kill([pid])
  return () => start(component, program, args)
}

/** Suspends a component: its connections stay open, and it answers nothing. Returns a function that resumes it. */
export function suspendComponent(component: string): () => void {
  const pid = processOf(component)
  process.kill(pid, 'SIGSTOP')
  return () => process.kill(pid, 'SIGCONT')
}

function processOf(component: string): number {
  const found = ownProcesses().find((own) => own.component === component)
  if (found === undefined) throw new Error(`${component} does not run`)
  return found.pid
}

/** Start time of a process in ticks since boot: unique together with the process id. */
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
    // A zombie has ended, but its parent has not waited for it.
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
    if (program.startsWith(operatorPrefix)) return basename(args[0] ?? '')
    return program.startsWith('containerd') ? program : undefined
  } catch {
    return undefined // the process has ended
  }
}
