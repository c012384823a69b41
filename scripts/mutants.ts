import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { parseSync } from '@swc/core'

/**
 * Puts small mistakes into `src/`, one at a time, and lists those that turn no test red:
 *
 *     npm run mutants                        90 mistakes at random
 *     npm run mutants -- --seed 7 --count 20 --only gate
 *     npm run mutants -- --seed 7 --count 20 --only gate --numbers 3,11      two of them again
 *
 * A mistake is a negated condition, a dropped operand, a dropped statement, another comparison, min for max, or a skipped
 * filter. Of each, the nearest tests run first: those named after the file, those of its folder, then those that import it,
 * and last the slow ones. A test file that fails runs again alone, with the mistake and without. A mistake that no test
 * notices is equivalent code, or a case without a test. A mistake whose tests do not end within `--minutes` (10) is listed as
 * undecided. The checkout is copied, and stays unchanged.
 */

interface Mistake {
  readonly file: string
  /** Positions in the text. */
  readonly from: number
  readonly to: number
  readonly text: string
  readonly what: string
}

/** A node of swc's syntax tree: its fields depend on its type. */
type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly span: Span }
interface Span {
  readonly start: number
  readonly end: number
}

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '90' },
    only: { type: 'string', default: '' },
    minutes: { type: 'string', default: '10' },
    numbers: { type: 'string', default: '' },
  },
})
const [seed, count, only] = [Number(values.seed), Number(values.count), values.only]
const limitMs = Number(values.minutes) * 60_000

const otherComparison: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
}
const otherCall: Readonly<Record<string, string>> = { min: 'max', max: 'min', some: 'every', every: 'some' }
/** Tests that try many cases, or start processes, which bundle the sources first. */
const slow =
  /\/(?:integration|cli|act|cluster|operators|reliability)\/|\/(?:demo|dist|package|docs|workflows?|growth|fuzz|late-)[^/]*\.test\.ts$|\.property\.test\.ts$/

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && name.includes(only))
  .toSorted()
  .map((name) => join('src', name))
const chosen = shuffled(files.flatMap(mistakesIn), seed).slice(0, count)

const copy = mkdtempSync(join(tmpdir(), 'rollout-gate-mutants-'))
// Some tests run the program as another user.
chmodSync(copy, 0o755)
try {
  cpSync(root, copy, { recursive: true, filter: (path) => !/\/(?:node_modules|\.git|build)$/.test(path) })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const listed: string[] = []
  for (const [index, mistake] of chosen.entries()) {
    if (values.numbers !== '' && !values.numbers.split(',').includes(`${index + 1}`)) continue
    const { isNoticed, text: verdict } = await createVerdict(mistake)
    const line = `${verdict}  ${placeOf(mistake)}`
    console.log(`${index + 1}/${chosen.length}  ${line}`)
    if (!isNoticed) listed.push(line)
  }
  console.log(`\n${listed.length} of ${chosen.length} mistakes turn no test red (seed ${seed})`)
  for (const line of listed) console.log(line)
} finally {
  rmSync(copy, { recursive: true, force: true })
}

/** A random order that the seed decides (mulberry32). */
function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return items
    .map((item) => ({ item, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item)
}

function mistakesIn(file: string): readonly Mistake[] {
  // The tree begins with the first token: the semicolon makes it the first character. Positions are bytes.
  const source = readFileSync(join(root, file), 'utf8')
  if (source.startsWith('#!')) return []
  const bytes = Buffer.from(`;${source}`)
  const tree = parseSync(bytes.toString(), { syntax: 'typescript', target: 'es2024' })
  const mistakes: Mistake[] = []
  const at = ({ start, end }: Span) => [start - tree.span.start, end - tree.span.start] as const
  const textOf = (span: Span) => bytes.subarray(...at(span)).toString()
  const replace = (span: Span, text: string, what: string) => {
    const [from, to] = at(span)
    mistakes.push({ file, from: from - 1, to: to - 1, text, what })
  }
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    const node = value as Node
    if (typeof node.type === 'string' && node.span !== undefined) mistakesAt(node, textOf, replace)
    for (const [key, child] of Object.entries(node)) if (key !== 'span') visit(child)
  }
  visit(tree.body)
  return mistakes
}

function mistakesAt(
  node: Node,
  textOf: (span: Span) => string,
  replace: (span: Span, text: string, what: string) => void,
): void {
  const { type, span } = node
  if (type === 'IfStatement' || type === 'ConditionalExpression') {
    const test = node['test'] as Node
    replace(test.span, `!(${textOf(test.span)})`, 'negated condition')
  } else if (type === 'BinaryExpression') {
    const [left, right, operator] = [node['left'] as Node, node['right'] as Node, String(node['operator'])]
    if (operator === '&&' || operator === '||' || operator === '??') {
      replace(span, textOf(left.span), 'dropped operand')
      replace(span, textOf(right.span), 'dropped operand')
    }
    const other = otherComparison[operator]
    if (other !== undefined) replace(span, `${textOf(left.span)} ${other} ${textOf(right.span)}`, 'other comparison')
  } else if (type === 'ExpressionStatement') {
    replace(span, ';', 'dropped statement')
  } else if (type === 'CallExpression') {
    const callee = node['callee'] as Node
    if (callee.type !== 'MemberExpression') return
    const property = callee['property'] as Node
    const name = String(property['value'])
    const other = otherCall[name]
    if (other !== undefined) replace(property.span, other, `${other} for ${name}`)
    const [first] = node['arguments'] as readonly { readonly expression: Node }[]
    if (name === 'filter' && first !== undefined) replace(first.expression.span, '() => true', 'skipped filter')
  }
}

/** Which tests notice a mistake, and the first file of them: none does (`ALIVE`), or they take too long (`UNDECIDED`). */
async function createVerdict(mistake: Mistake): Promise<{ readonly isNoticed: boolean; readonly text: string }> {
  const path = join(copy, mistake.file)
  const bytes = readFileSync(path)
  const mistaken = Buffer.concat([
    bytes.subarray(0, mistake.from),
    Buffer.from(mistake.text),
    bytes.subarray(mistake.to),
  ])
  writeFileSync(path, mistaken)
  try {
    const endsAt = Date.now() + limitMs
    const [name, folder] = [basename(mistake.file, '.ts'), basename(dirname(mistake.file))]
    const stages: readonly (readonly [string, (file: string) => boolean])[] = [
      ['named', (file) => basename(file).startsWith(`${name}.`) && !slow.test(file)],
      ['near', (file) => (file.includes(`/${name}`) || basename(dirname(file)) === folder) && !slow.test(file)],
      ['related', (file) => !slow.test(file)],
      ['slow', () => true],
    ]
    let left = (await jest(['--listTests', '--findRelatedTests', mistake.file], endsAt)).stdout
      .split('\n')
      .filter(Boolean)
    for (const [stage, isOf] of stages) {
      let tests = left.filter(isOf)
      left = left.filter((file) => !isOf(file))
      while (tests.length > 0) {
        const { code, stderr } = await jest(['--bail', '--runTestsByPath', ...tests], endsAt)
        if (code === null) return { isNoticed: false, text: `UNDECIDED (${stage})` }
        if (code === 0) break
        const failed = failedIn(stderr)
        // A test may fail for another cause: on a busy machine for lack of time, or because this is a copy.
        const again = await jest(['--runTestsByPath', failed], endsAt)
        writeFileSync(path, bytes)
        const without = await jest(['--runTestsByPath', failed], endsAt)
        writeFileSync(path, mistaken)
        if (again.code === null || without.code === null)
          return { isNoticed: false, text: `UNDECIDED (${stage}, ${failed})` }
        if (again.code !== 0 && without.code === 0) return { isNoticed: true, text: `${stage} (${failed})` }
        tests = tests.filter((file) => !file.endsWith(`/${failed}`))
      }
    }
    return { isNoticed: false, text: 'ALIVE' }
  } finally {
    writeFileSync(path, bytes)
  }
}

/** The first test file that failed, as jest prints it. */
function failedIn(report: string): string {
  const [, file] = /^FAIL (\S+)/m.exec(report) ?? []
  if (file === undefined) throw new Error(`jest failed without a test that did:\n${report}`)
  return file
}

/** Its code is null if the time ran out: then its workers, one of which may be in an endless loop, end with it. */
async function jest(args: readonly string[], endsAt: number) {
  const child = spawn(process.execPath, ['node_modules/jest/bin/jest.js', '--silent', ...args], {
    cwd: copy,
    env: { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --no-warnings' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const timer = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), endsAt - Date.now())
  const exit = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await exit
  clearTimeout(timer)
  return { stdout, stderr, code: code as number | null }
}

function placeOf({ file, from, to, text, what }: Mistake): string {
  const source = readFileSync(join(root, file))
  const line = source.subarray(0, from).toString().split('\n').length
  const short = (value: string) => value.replace(/\s+/g, ' ').slice(0, 80)
  return `${file}:${line}  ${what}: ${short(source.subarray(from, to).toString())} → ${short(text)}`
}
