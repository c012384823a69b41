import { globSync, readFileSync, statSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { type AddMistake, type Mistake, quote, throwMistakes, tryParseJson, UserError } from '../errors.ts'
import { reportSchema } from '../gate/report-schema.ts'
import { maxReportBytes, maxReports } from '../thresholds.ts'
import { isLinkedOutside, pathExists } from '../workspace.ts'
import { readRecord } from './json-report.ts'
import type { ReportFile } from './merge-reports.ts'

/* Finds and reads the reports to merge. */

/** The maximum number of mistakes that are reported for one file: more do not help. */
const mistakesPerFile = 3

/**
 * Reads the reports that the lines name. A line is a path (`reports/eu/report.json`), a path with a name for its gate
 * (`prod-eu=reports/eu/report.json`), or a pattern with `*`, `?` or `[…]`. `#` starts a comment. If nothing exists at
 * the path or matches the pattern, the `ReportFile` has no record.
 *
 * Symbolic links must stay within the workspace, as for manifests.
 * @param lines the lines of the input, or the arguments of the command
 * @param workspace the absolute path of the folder to which paths are relative
 * @throws UserError with all mistakes, for files that cannot be read or are no reports
 */
export function readReportFiles(lines: readonly string[], workspace: string, input: string): ReportFile[] {
  const mistakes: Mistake[] = []
  const found = new Map<string, ReportFile>()
  for (const [index, raw] of lines.entries()) {
    const written = raw.trim()
    if (written === '' || written.startsWith('#')) continue
    const addMistake: AddMistake = (message) => mistakes.push({ input, line: index + 1, message })
    const [, name, pattern] = /^([^=/\\*?[\]{}]+)=(.*)$/s.exec(written) ?? [written, undefined, written]
    const paths = findPaths(pattern?.trim() ?? '', workspace)
    const parts = name === undefined ? differingParts(paths.map(({ path }) => path)) : []
    for (const [place, { path, isPattern }] of paths.entries()) {
      if (found.has(path)) continue
      if (found.size >= maxReports) {
        addMistake(`More than ${maxReports} reports are named.`)
        throwMistakes(mistakes)
      }
      const record = isPattern ? undefined : readReport(path, workspace, mistakes)
      found.set(path, { name: name?.trim() ?? parts[place], path, record, isPattern })
    }
  }
  const names = Map.groupBy(
    [...found.values()].flatMap(({ name }) => name ?? []),
    (name) => name,
  )
  for (const [name, { length }] of names) {
    if (length > 1)
      mistakes.push({
        input,
        message: `The name ${quote(name)} is given to ${length} reports. Write one line for each, with a name of its own.`,
      })
  }
  if (found.size === 0 && mistakes.length === 0) {
    mistakes.push({ input, message: 'No report is named. Write one path per line, like reports/prod-eu/report.json.' })
  }
  throwMistakes(mistakes)
  return [...found.values()]
}

/** The part of each path that differs: without the first and last steps that all paths share. Empty for one path. */
function differingParts(paths: readonly string[]): readonly string[] {
  if (paths.length < 2) return []
  const all = paths.map((path) => path.split('/'))
  const shortest = Math.min(...all.map((steps) => steps.length))
  const isCommon = (index: number) => all.every((steps) => steps.at(index) === all[0]?.at(index))
  let [start, end] = [0, 0]
  while (start < shortest - 1 && isCommon(start)) start += 1
  while (end < shortest - 1 - start && isCommon(-1 - end)) end += 1
  return all.map((steps) => steps.slice(start, steps.length - end).join('/'))
}

/** The sorted files that match a pattern. If the path is no pattern, or nothing matches, the path itself. */
function findPaths(path: string, workspace: string): { path: string; isPattern: boolean }[] {
  const isPattern = /[*?[]/.test(path) && !pathExists(resolve(workspace, path))
  if (!isPattern) return [{ path, isPattern }]
  const matches = globSync(path, { cwd: workspace }).sort()
  if (matches.length === 0) return [{ path, isPattern }]
  return matches.map((match) => ({ path: match.split(sep).join('/'), isPattern: false }))
}

/** Reads a report, or adds a mistake. Undefined after a mistake, and if the file does not exist. */
function readReport(path: string, workspace: string, mistakes: Mistake[]): ReportFile['record'] {
  const file = resolve(workspace, path)
  if (path === '' || !pathExists(file)) return undefined
  try {
    if (isLinkedOutside(file, workspace))
      throw invalidReport('It is a symbolic link to a path outside of the workspace. Name the file itself, or copy it.')
    const stats = statSync(file)
    if (stats.isDirectory())
      throw invalidReport(`It is a folder. Name the report in it, like ${path.replace(/\/$/, '')}/report.json.`)
    if (!stats.isFile()) throw invalidReport('It is no report: it is no file.')
    if (stats.size > maxReportBytes)
      throw invalidReport(`It is no report: it is larger than ${maxReportBytes / 1024 / 1024} MiB.`)
    return parseReport(readFileSync(file, 'utf8'))
  } catch (error) {
    const cause =
      error instanceof UserError
        ? error
        : invalidReport(`It cannot be read: ${(error as NodeJS.ErrnoException).code ?? error}.`)
    mistakes.push(...cause.mistakes.map((mistake) => ({ ...mistake, input: path })))
    return undefined
  }
}

function invalidReport(...messages: readonly string[]): UserError {
  return new UserError(messages.map((message) => ({ input: '', message })))
}

/** @throws UserError without the message of `JSON.parse`, which quotes the file: it may be any file of the machine */
function parseReport(text: string): ReportFile['record'] {
  const content = tryParseJson(text) as { readonly schema?: unknown } | null | undefined
  if (content?.schema !== 1)
    throw invalidReport('It is no report of this version of Rollout Gate. Name the file of the output `report`.')
  const { success, data, error } = reportSchema.safeParse(content)
  if (!success) {
    const messages = error.issues.slice(0, mistakesPerFile).map(({ path, message }) => {
      const field = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
      return `${field.replace(/^\./, '')}: ${message.slice(0, 200)}. Was it written by another version of the action?`
    })
    throw invalidReport(...messages)
  }
  if (data.gates !== undefined) throw invalidReport('It is a merged report. Name the reports of its gates.')
  if (data.outcome === 'ready' && data.targets.some(({ outcome }) => outcome !== 'ready'))
    throw invalidReport(
      'outcome: It is ready, but not everything in the report is. Name the file of the output `report`, as the gate wrote it.',
    )
  return readRecord(data)
}
