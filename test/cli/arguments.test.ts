import { type Arguments, type Grammar, readArguments } from '../../src/cli/arguments.ts'
import { commands } from '../../src/cli/commands.ts'
import { readReferences } from '../../src/cli/inputs.ts'
import { splitWords } from '../../src/plan/kubectl-output.ts'

const grammar = (name: string) => commands.find((command) => command.name === name) as Grammar

/** Reads a command line with quotes, as a shell does. */
function read(line: string, command = 'wait'): Arguments {
  return readArguments(splitWords(line, () => {})?.map(({ text }) => text) ?? [], grammar(command))
}

/** The references in short: what each names or selects, and what it waits for. */
function linesOf(line: string, stdin = ''): string[] {
  return readReferences(read(line), stdin).parsed.references.map(
    ({ exclude, kind, name, selector, namespace, clocks, waitFor }) =>
      [
        `${exclude ? '!' : ''}${kind}`,
        name ?? (selector === '' ? '--all' : `-l ${selector}`),
        ...(namespace === undefined ? [] : [`-n ${namespace}`]),
        ...(clocks.timeoutMs === undefined ? [] : [`--timeout=${clocks.timeoutMs}`]),
        ...(waitFor === undefined ? [] : [`--for=${waitFor.type}`]),
      ].join(' '),
  )
}

/** The mistakes of flags and options of the references. */
function referenceMistakesOf(line: string, command = 'wait', hasManifests = false): string[] {
  const { mistakes, parsed } = readReferences(read(line, command), '', { hasManifests })
  return [...mistakes, ...parsed.mistakes].map(({ input, message }) => `${input}: ${message}`)
}

function mistakesOf(line: string, command = 'wait'): string[] {
  return read(line, command).mistakes.map(({ input, message }) => `${input}: ${message}`)
}

describe('flags that stand for all references', () => {
  test.each([
    '-n shop --timeout 5m --stall-timeout=1m --milestone-timeouts ready=1m a/b c/d',
    'a/b -n shop --timeout 5m c/d --stall-timeout=1m --milestone-timeouts ready=1m',
    'a/b c/d -n shop --timeout 5m --stall-timeout=1m --milestone-timeouts ready=1m',
  ])('are inputs of the gate, wherever they are: %s', (line) => {
    expect(Object.fromEntries(read(line).flags)).toEqual({
      namespace: 'shop',
      timeout: '5m',
      'stall-timeout': '1m',
      'milestone-timeouts': 'ready=1m',
    })
    expect(linesOf(line)).toEqual(['a b', 'c d'])
  })

  test.each(['-l app=shop deploy,sts', 'deploy,sts -l app=shop', "deploy,sts -l app=shop '!deploy/old'"])(
    'select the objects of kinds without a name: %s',
    (line) => {
      expect(linesOf(line).slice(0, 2)).toEqual(['deploy -l app=shop', 'sts -l app=shop'])
    },
  )

  test('define ready for all but excludes', () => {
    expect(linesOf('a/b !e/f c/d --for=condition=Ready')).toEqual([
      'a b --for=condition',
      '!e f',
      'c d --for=condition',
    ])
    const { parsed } = readReferences(read('a/b --revision=app=v1 --revision=web=v2'), '')
    expect(parsed).toMatchObject({ references: [{ revisions: [{ source: 'app' }, { source: 'web' }] }], mistakes: [] })
    expect(linesOf('--all deploy,sts !deploy/old')).toEqual(['deploy --all', 'sts --all', '!deploy old'])
    expect(readReferences(read('-f k8s --for=delete'), '', { hasManifests: true }).waitFor).toEqual({ type: 'delete' })
  })

  test('accept their values in every form of kubectl', () => {
    for (const written of ['-n shop', '-nshop', '-n=shop', '--namespace shop', '--namespace=shop']) {
      expect(read(`deployment/web ${written}`).flags.get('namespace')).toBe('shop')
    }
  })

  test('are one mistake each, under the name that the user wrote', () => {
    expect(referenceMistakesOf('a/b c/d --for=later')).toEqual([
      expect.stringMatching(/^--for: --for cannot wait for "later"/),
    ])
    expect(referenceMistakesOf('deploy -l app==')).toEqual([])
    expect(referenceMistakesOf('deploy -l =')).toEqual([expect.stringMatching(/^-l: "=" is not a label selector/)])
    expect(referenceMistakesOf('deploy --all --selector=a')).toEqual([
      '--selector: -l and --all are given together. Keep one of them.',
    ])
    expect(mistakesOf('a/b --timeout=1m c/d --timeout=2m')).toEqual([
      "--timeout: It is given twice. It stands for all references. One with a value of its own is written in quotes: 'job/migrate --timeout=20m'.",
    ])
  })

  test.each([
    ['deploy -l app=shop service/web', '-l', 'service/web'],
    ['deploy --all sts', '--all', 'deploy sts'],
    ['-f k8s/ --selector app=shop', '--selector', 'an object of a manifest'],
  ])('cannot stand together with a reference by name: %s', (line, flag, what) => {
    expect(referenceMistakesOf(line, 'wait', line.startsWith('-f'))).toEqual([
      `${flag}: It stands for all references, and ${what} has a name. Remove it, or write it with its kind, in quotes: 'deployments -l app=shop'; several kinds have commas: deploy,sts.`,
    ])
  })
})

describe('a reference in quotes', () => {
  test('has options of its own', () => {
    expect(linesOf("deployment/web 'job/migrate --timeout=20m -n jobs'")).toEqual([
      'deployment web',
      'job migrate -n jobs --timeout=1200000',
    ])
    expect(linesOf("'deploy -l app=shop' 'sts web db' '!secret --all'")).toEqual([
      'deploy -l app=shop',
      'sts web',
      'sts db',
      '!secret --all',
    ])
  })

  test('is read as a line of resources', () => {
    const { parsed } = readReferences(read("'job/migrate --timeout=20m -n jobs' web/a"), '')
    expect(parsed.references).toMatchObject([
      { kind: 'job', name: 'migrate', namespace: 'jobs', clocks: { timeoutMs: 1_200_000 } },
      { kind: 'web', name: 'a', clocks: {} },
    ])
  })

  test('goes before the flags for all', () => {
    expect(linesOf("a/b 'c/d --for=create' --for=delete")).toEqual(['a b --for=delete', 'c d --for=create'])
    expect(linesOf("deploy 'sts --all' 'jobs -l app=cart' -l app=shop")).toEqual([
      'deploy -l app=shop',
      'sts --all',
      'jobs -l app=cart',
    ])
  })

  test('with a mistake is the place of the mistake', () => {
    expect(readReferences(read("a/b 'c/d --timeout=5'"), '').parsed.mistakes).toEqual([
      { input: 'c/d --timeout=5', message: expect.stringMatching(/^--timeout: "5" has no unit/) },
    ])
  })

  test('has only options that the command accepts', () => {
    const mistake = 'This command does not take --timeout. --help lists its flags.'
    expect(referenceMistakesOf("'pod/x --timeout=5m'", 'status')).toEqual([`pod/x --timeout=5m: ${mistake}`])
    expect(referenceMistakesOf("'pod/x --timeout=5m'", 'trace')).toEqual([])
  })
})

describe('references', () => {
  test('are a kind with its names, or each TYPE/NAME by itself', () => {
    expect(linesOf('deploy web api job/migrate sts db')).toEqual(['deploy web', 'deploy api', 'job migrate', 'sts db'])
    expect(linesOf('deploy -n shop web')).toEqual(['deploy web'])
    expect(linesOf("deploy web 'sts db'")).toEqual(['deploy web', 'sts db'])
  })

  test('wait for a value with blanks', () => {
    const { parsed } = readReferences(
      readArguments(['pod/web', "--for=jsonpath={.status.phase}='Running now'"], grammar('wait')),
      '',
    )
    expect(parsed.references[0]?.waitFor).toEqual({ type: 'jsonpath', path: '{.status.phase}', value: 'Running now' })
  })

  test('of stdin keep their line numbers, and get the flags for all', () => {
    const printed = 'deployment.apps/web configured\n\nWarning: old\njob.batch/old deleted\n'
    const { references, skipped } = readReferences(read('-'), printed).parsed
    expect([...references, ...skipped].map(({ line }) => line)).toEqual([1, 3, 4])
    expect(linesOf('- --for=create', printed)).toEqual(['deployment.apps web --for=create'])
  })

  test('with a line break are refused, with the fix', () => {
    expect(readArguments(['a/b created\nc/d created'], grammar('wait')).mistakes).toEqual([
      { input: 'a/b created', message: expect.stringContaining('kubectl apply -f k8s/ | rollout-gate wait -') },
    ])
  })
})

describe('flags of the gate', () => {
  test('may be anywhere', () => {
    const { flags, references } = read('deployment/web --json --max-restarts 5 service/web --context=prod')
    expect(Object.fromEntries(flags)).toEqual({ json: 'true', 'max-restarts': '5', context: 'prod' })
    expect(references).toEqual([['deployment/web'], ['service/web']])
  })

  test('that are switches accept a value after an equals sign, or a no- before them', () => {
    const failFast = (line: string) => read(`a/b ${line}`).flags.get('fail-fast')
    expect(['--fail-fast', '--fail-fast=false', '--no-fail-fast', ''].map(failFast)).toEqual([
      'true',
      'false',
      'false',
      undefined,
    ])
    expect(['--color', '--color=never', '--no-color'].map((flag) => read(flag).flags.get('color'))).toEqual([
      'always',
      'never',
      'never',
    ])
  })

  test('that are the duration of a recording begin with a digit, unlike conditions', () => {
    const { flags, referenceFlags } = read('deployment/web --for=condition=Available --for=2m -o x', 'record')
    expect(Object.fromEntries(flags)).toEqual({ for: '2m', output: 'x' })
    expect(Object.fromEntries(referenceFlags)).toEqual({ for: 'condition=Available' })
  })

  test('come from every input', () => {
    for (const name of [
      'kubeconfig',
      'context',
      'settle-time',
      'max-restarts',
      'on-superseded',
      'log-lines',
      'record',
    ]) {
      expect(grammar('wait').flags.map((flag) => flag.name)).toContain(name)
    }
  })

  test('of a replay may be anywhere among the files', () => {
    const { flags, files } = read('a.ndjson --stall-timeout=2m b.ndjson -n shop', 'replay')
    expect(files).toEqual(['a.ndjson', 'b.ndjson'])
    expect(Object.fromEntries(flags)).toEqual({ 'stall-timeout': '2m', namespace: 'shop' })
  })
})

describe('mistakes', () => {
  test('are reported all at once, each with what was probably meant', () => {
    expect(mistakesOf('--timout 5m deployment/web --fail-fast=maybe --json --json --max-restarts')).toEqual([
      '--timout: There is no such flag. Did you mean --timeout?',
      '--fail-fast: "maybe" is not one of true, false.',
      '--json: It is given twice. Keep one of them.',
      '--max-restarts: It has no value. Write --max-restarts=NUMBER.',
    ])
  })

  test('in a flag do not make its value a reference', () => {
    expect(read('deployment/web --tiemout 5m').references).toEqual([['deployment/web']])
  })

  test('name the equivalent of a flag of kubectl', () => {
    expect(mistakesOf('pod/x --tail=5')).toEqual(['--tail: There is no such flag. Did you mean --log-lines?'])
    expect(mistakesOf('pod/x -o json')).toEqual(['-o: There is no such flag. Did you mean --json?'])
    expect(mistakesOf('pod/x --follow')).toEqual(['--follow: There is no such flag. Did you mean --stream-logs?'])
    expect(mistakesOf('deploy --all -A')).toEqual(['-A: There is no such flag. Name one namespace with -n.'])
    // Only where the command has the flag.
    expect(mistakesOf('pod/x --tail=5', 'trace')).toEqual(['--tail: There is no such flag. --help lists all flags.'])
  })

  test('name a flag that only other commands accept, with its value', () => {
    const mistake = 'This command does not take it. --help lists its flags.'
    expect(mistakesOf('pod/x --stall-timeout 5m', 'status')).toEqual([`--stall-timeout: ${mistake}`])
    expect(mistakesOf('pod/x --record x.ndjson', 'trace')).toEqual([`--record: ${mistake}`])
    expect(read('pod/x --record x.ndjson', 'trace').references).toHaveLength(1)
  })

  test('contain a word of several letters as it was written', () => {
    expect(mistakesOf('-web')).toEqual(['-web: There is no such flag. --help lists all flags.'])
  })
})
