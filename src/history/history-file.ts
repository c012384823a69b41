import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { historyGates, historyLockMs, maxHistoryBytes } from '../thresholds.ts'
import { type PastGate, parseGate } from './gates.ts'

/** Other users of a self-hosted runner must not read it. */
const privateFile = 0o600

/** The earlier gates of a file, the oldest first, and which lines are no gates. */
export interface History {
  readonly gates: readonly PastGate[]
  /** The numbers of the lines that were skipped. */
  readonly skipped: readonly number[]
}

/**
 * Reads a history: NDJSON with one line for each gate. A file that does not exist is an empty history; a line that is no
 * gate is skipped.
 * @throws the file system's error; an error if the file is too large to be a history
 */
export function readHistory(path: string): History {
  const text = readText(path)
  const gates = new Map<string, PastGate>()
  const skipped: number[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const gate = parseGate(line)
    if (gate === undefined) skipped.push(index + 1)
    else gates.set(gate.id, gate)
  }
  return { gates: [...gates.values()].slice(-historyGates), skipped }
}

/** `2 lines are no gates and were skipped (the first is line 7)` */
export function describeSkipped(skipped: readonly number[]): string {
  const words =
    skipped.length === 1 ? '1 line is no gate and was skipped' : `${skipped.length} lines are no gates and were skipped`
  return `${words} (${skipped.length === 1 ? '' : 'the first is '}line ${skipped[0]})`
}

function readText(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return ''
  if (found.size > maxHistoryBytes)
    throw new Error(`it has ${found.size} bytes, which is more than a history of ${historyGates} gates`)
  return readFileSync(path, 'utf8')
}

/**
 * Adds a gate to a history, and removes the oldest gates if there are too many. Several jobs may do this at the same
 * time without the loss of a line: each line is appended in one write, and is appended again if the file was replaced
 * meanwhile; the job that replaces the file adds the lines that were appended to the old file.
 * @throws the file system's error
 */
export function appendGate(path: string, gate: PastGate): void {
  mkdirSync(dirname(path), { recursive: true })
  appendLine(path, JSON.stringify(gate))
  const lines = readText(path).split('\n').filter(isGate)
  if (lines.length > historyGates) trim(path)
}

function isGate(line: string): boolean {
  return parseGate(line) !== undefined
}

function appendLine(path: string, line: string): void {
  // A replacement comes once in a while, so a second one during this is unlikely; an endless loop must be impossible.
  for (let attempt = 0; attempt < 3; attempt++) {
    const file = openSync(path, 'a', privateFile)
    try {
      // A line that another process could not finish ends here.
      writeSync(file, `${endsMidLine(path) ? '\n' : ''}${line}\n`)
      if (isStill(path, file)) return
    } finally {
      closeSync(file)
    }
  }
}

/** Whether a path still names an open file: it was not replaced. */
function isStill(path: string, file: number): boolean {
  const open = fstatSync(file, { bigint: true })
  const named = statSync(path, { bigint: true, throwIfNoEntry: false })
  return named !== undefined && named.ino === open.ino && named.dev === open.dev
}

function endsMidLine(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const last = Buffer.alloc(1)
    return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
  } finally {
    closeSync(file)
  }
}

/** Keeps the last gates of a file. Only one process does so at a time; another one leaves it to a later gate. */
function trim(path: string): void {
  const lock = `${path}.lock`
  if (!takeLock(lock)) return
  const replacement = `${path}.${process.pid}.tmp`
  const old = openSync(path, 'r')
  try {
    const size = fstatSync(old).size
    const kept = readRange(old, 0, size).split('\n').filter(isGate).slice(-historyGates)
    writeFileSync(replacement, kept.map((line) => `${line}\n`).join(''), { mode: privateFile })
    renameSync(replacement, path)
    const late = readRange(old, size, fstatSync(old).size).split('\n').filter(isGate)
    for (const line of late) appendLine(path, line)
  } finally {
    closeSync(old)
    rmSync(replacement, { force: true })
    rmSync(lock, { force: true })
  }
}

function readRange(file: number, from: number, to: number): string {
  const bytes = Buffer.alloc(to - from)
  let read = 0
  for (let got = -1; read < bytes.length && got !== 0; read += got)
    got = readSync(file, bytes, read, bytes.length - read, from + read)
  return bytes.toString('utf8', 0, read)
}

/** Creates a lock file. An old one is of a process that was killed, and is removed for the next gate. */
function takeLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', privateFile))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const takenAt = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (takenAt !== undefined && Date.now() - takenAt > historyLockMs) rmSync(lock, { force: true })
    return false
  }
}
