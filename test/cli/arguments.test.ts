import { type Arguments, type Grammar, readArguments } from '../../src/cli/arguments.ts'
import { commands } from '../../src/cli/commands.ts'
import { readReferences } from '../../src/cli/inputs.ts'
import { splitWords } from '../../src/plan/kubectl-output.ts'
import type { Reference } from '../../src/plan/target.ts'
import { rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const grammar = (name: string) => commands.find((command) => command.name === name) as Grammar

/** Reads a command line with quotes, as a shell does. */
function read(line: string, command = 'wait'): Arguments {
  return readArguments(splitWords(line, () => {})?.map(({ text }) => text) ?? [], grammar(command))
}

/** A reference in short: what it names or selects, and what it waits for. */
function textOf({ exclude, kind, name, selector, namespace, clocks, waitFor }: Reference): string {
  return [
    `${exclude ? '!' : ''}${kind}`,
    name ?? (selector === '' ? '--all' : `-l ${selector}`),
    ...(namespace === undefined ? [] : [`-n ${namespace}`]),
    ...(clocks.timeoutMs === undefined ? [] : [`--timeout=${clocks.timeoutMs}`]),
    ...(waitFor === undefined ? [] : [`--for=${waitFor.type}`]),
  ].join(' ')
}

test.each(
  rows<[string, string, string, Readonly<Record<string, string>>, readonly string[] | null, readonly string[]]>(
    data,
    'command lines',
  ),
)('%s', (_, command, line, flags, references, mistakes) => {
  const given = read(line, command)
  const { parsed, ...of } = readReferences(given, '', line.includes('-f '))
  expect(Object.fromEntries(given.flags)).toEqual(flags)
  if (references !== null) expect(parsed.references.map(textOf)).toEqual(references)
  const found = [...given.mistakes, ...of.mistakes, ...parsed.mistakes]
  expect(found.map(({ input, message }) => `${input}: ${message}`)).toEqual(
    mistakes.map((words) => expect.stringMatching(toPattern(words))),
  )
})

describe('flags for all references', () => {
  test('apply to the objects of manifests, and --revision applies to each source', () => {
    const { parsed } = readReferences(read('a/b --revision=app=v1 --revision=web=v2'), '')
    expect(parsed).toMatchObject({ references: [{ revisions: [{ source: 'app' }, { source: 'web' }] }], mistakes: [] })
    expect(readReferences(read('-f k8s --for=delete'), '', true).waitFor).toEqual({ type: 'delete' })
  })

  test.each(['-n shop', '-nshop', '-n=shop', '--namespace shop', '--namespace=shop'])(
    'accept a value in the form "%s"',
    (written) => {
      expect(read(`deployment/web ${written}`).flags.get('namespace')).toBe('shop')
    },
  )
})

describe('references', () => {
  test('may await a value with spaces', () => {
    const { parsed } = readReferences(
      readArguments(['pod/web', "--for=jsonpath={.status.phase}='Running now'"], grammar('wait')),
      '',
    )
    expect(parsed.references[0]?.waitFor).toEqual({ type: 'jsonpath', path: '{.status.phase}', value: 'Running now' })
  })

  test('on stdin keep their line numbers and get the flags for all references', () => {
    const printed = 'deployment.apps/web configured\n\nWarning: old\njob.batch/old deleted\n'
    const { references, skipped } = readReferences(read('-'), printed).parsed
    expect([...references, ...skipped].map(({ place }) => place.line)).toEqual([1, 3, 4])
    const created = readReferences(read('- --for=create'), printed).parsed.references
    expect(created.map(textOf)).toEqual(['deployment.apps web --for=create'])
  })

  test('with a line break are rejected with a fix', () => {
    expect(readArguments(['a/b created\nc/d created'], grammar('wait')).mistakes).toEqual([
      { input: 'a/b created', message: expect.stringContaining('kubectl apply -f k8s/ | rollout-gate wait -') },
    ])
  })
})

describe('flags of the gate', () => {
  test.each(rows<[string, string, string | null]>(data, 'switches'))(
    'may be switched on or off by "%s"',
    (written, flag, value) => {
      expect(read(`a/b ${written}`).flags.get(flag)).toBe(value ?? undefined)
    },
  )

  test('exist for every input', () => {
    expect(grammar('wait').flags.map(({ name }) => name)).toEqual(
      expect.arrayContaining(rows<string>(data, 'inputs that are flags') as string[]),
    )
  })

  test('of replay may be at any place among the files', () => {
    const { flags, files } = read('a.ndjson --stall-timeout=2m b.ndjson -n shop', 'replay')
    expect(files).toEqual(['a.ndjson', 'b.ndjson'])
    expect(Object.fromEntries(flags)).toEqual({ 'stall-timeout': '2m', namespace: 'shop' })
  })
})
