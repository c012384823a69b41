import { readFileSync } from 'node:fs'
import type { KindName } from '../cluster/objects.ts'
import { type Mistake, UserError } from '../errors.ts'
import { type Compiler, type Expression, firstLine, loadCompiler } from './expressions.ts'

/**
 * The user's health check for a kind: CEL expressions on the object's fields, as in Flux' `healthCheckExprs`. An
 * expression that reads a missing field is false.
 */
export interface HealthCheck extends KindName {
  readonly current: Expression
  readonly failed?: Expression
  readonly inProgress?: Expression
}

const fields: readonly string[] = ['apiVersion', 'kind', 'current', 'failed', 'inProgress']

/** An entry of the file, unchecked. */
type RawHealthCheck = Readonly<Partial<Record<keyof HealthCheck, unknown>>>

/**
 * Reads a YAML list of health checks and compiles their expressions.
 * @param path of the file, for messages
 * @throws UserError with every mistake
 */
export async function parseHealthChecks(text: string, path: string): Promise<readonly HealthCheck[]> {
  // Loaded when needed: both libraries cost start-up time.
  const [{ load }, compiler] = await Promise.all([import('js-yaml'), loadCompiler()])
  const mistakes: Mistake[] = []
  const addMistake = (message: string) => mistakes.push({ input: path, message })
  const list = parseYaml(text, load, addMistake)
  const checks = list.flatMap((entry, index) => compile(entry, `Entry ${index + 1}`, compiler, addMistake) ?? [])
  const names = checks.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)
  for (const name of new Set(names.filter((name, index) => names.indexOf(name) !== index)))
    addMistake(`${name} is written twice. Put its expressions into one entry.`)
  if (mistakes.length > 0) throw new UserError(mistakes)
  return checks
}

function parseYaml(
  text: string,
  load: (text: string) => unknown,
  addMistake: (message: string) => void,
): readonly RawHealthCheck[] {
  try {
    const list = load(text)
    if (Array.isArray(list)) return list as readonly RawHealthCheck[]
    addMistake('This is not a list. Write a YAML list of {apiVersion, kind, current, failed, inProgress}.')
  } catch (error) {
    addMistake(`This is not valid YAML: ${firstLine(error)}`)
  }
  return []
}

function compile(
  entry: RawHealthCheck,
  where: string,
  compiler: Compiler,
  addMistake: (message: string) => void,
): HealthCheck | undefined {
  if (typeof entry !== 'object' || entry === null) {
    addMistake(`${where} is not a mapping. Write apiVersion, kind and current.`)
    return undefined
  }
  for (const name of Object.keys(entry))
    if (!fields.includes(name)) addMistake(`${where} has an unknown field "${name}". There are ${fields.join(', ')}.`)
  const { apiVersion, kind } = entry
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    addMistake(`${where} lacks ${typeof apiVersion === 'string' ? 'kind' : 'apiVersion'}.`)
    return undefined
  }
  const isRedacted = apiVersion === 'v1' && (kind === 'ConfigMap' || kind === 'Secret')
  const expression = (name: 'current' | 'failed' | 'inProgress'): Expression | undefined => {
    const source = entry[name]
    if (source === undefined && name !== 'current') return undefined
    if (isRedacted && typeof source === 'string' && /\b(data|binaryData|stringData)\b/.test(source)) {
      addMistake(`${where}, ${name}: values of a ${kind} are redacted, so expressions cannot read them.`)
      return undefined
    }
    if (typeof source === 'string' && source.trim() !== '')
      return toExpression(source, `${where}, ${name}`, compiler, addMistake)
    addMistake(`${where} (${kind}) lacks ${name}: an expression in CEL, like status.phase == 'Running'.`)
    return undefined
  }
  const [current, failed, inProgress] = [expression('current'), expression('failed'), expression('inProgress')]
  if (current === undefined) return undefined
  return { apiVersion, kind, current, failed, inProgress }
}

function toExpression(
  source: string,
  where: string,
  compiler: Compiler,
  addMistake: (message: string) => void,
): Expression | undefined {
  try {
    return compiler.condition(source)
  } catch (error) {
    addMistake(`${where}: ${firstLine(error)}`)
    return undefined
  }
}

/**
 * Reads the health checks of a file; none without a path.
 * @throws UserError if the file cannot be read, or with every mistake in it
 */
export async function readHealthChecks(path: string | undefined): Promise<readonly HealthCheck[]> {
  if (path === undefined) return []
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'There is no such file' : firstLine(error)
    throw new UserError([
      { input: 'health-checks', message: `${path} cannot be read: ${why}. Give a path from the workspace.` },
    ])
  }
  return parseHealthChecks(text, path)
}
