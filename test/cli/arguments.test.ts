import { type Arguments, type Grammar, readArguments } from '../../src/cli/arguments.ts'
import { commands } from '../../src/cli/commands.ts'
import { readReferences } from '../../src/cli/inputs.ts'

const grammar = (name: string) => commands.find((command) => command.name === name) as Grammar

function read(line: string, command = 'wait'): Arguments {
  return readArguments(line.split(' '), grammar(command))
}

/** The references, as lines of the input `resources`. */
function linesOf(line: string, stdin = ''): string[] {
  return readReferences(read(line), stdin).text.split('\n')
}

function mistakesOf(line: string, command = 'wait'): string[] {
  return read(line, command).mistakes.map(({ input, message }) => `${input}: ${message}`)
}

describe('flags of references', () => {
  test('after a reference belong to it alone', () => {
    expect(linesOf('deployment/web job/migrate --timeout=20m -n jobs')).toEqual([
      'deployment/web',
      'job/migrate --timeout=20m --namespace=jobs',
    ])
    expect(linesOf('certificate/tls --for condition=Ready service/web')).toEqual([
      'certificate/tls --for=condition=Ready',
      'service/web',
    ])
  })

  test('before the first reference are inputs of the gate, if it has them', () => {
    const { flags, references } = read(
      '-n shop --timeout 5m --stall-timeout=1m --milestone-timeouts ready=1m deployment/web',
    )
    expect(Object.fromEntries(flags)).toEqual({
      namespace: 'shop',
      timeout: '5m',
      'stall-timeout': '1m',
      'milestone-timeouts': 'ready=1m',
    })
    expect(references).toEqual([{ words: ['deployment/web'], flags: new Map() }])
  })

  test('before the first reference are the defaults of all', () => {
    expect(linesOf('-l app=shop deploy sts -l app=cart')).toEqual(['deploy sts --selector=app=cart'])
    expect(linesOf('--for=condition=Ready a/b c/d --for=create !e/f')).toEqual([
      'a/b --for=condition=Ready',
      'c/d --for=create',
      '!e/f',
    ])
    expect(linesOf('--all deploy,sts')).toEqual(['deploy,sts --all'])
  })

  test('accept their values in every form of kubectl', () => {
    for (const written of ['-n shop', '-nshop', '-n=shop', '--namespace shop', '--namespace=shop']) {
      expect(linesOf(`deployment/web ${written}`)).toEqual(['deployment/web --namespace=shop'])
    }
  })
})

describe('references', () => {
  test('are a kind with its names, or each TYPE/NAME by itself', () => {
    expect(linesOf('deploy web api job/migrate sts db')).toEqual(['deploy web api', 'job/migrate', 'sts db'])
    expect(linesOf('deploy web -n shop sts db')).toEqual(['deploy web --namespace=shop', 'sts db'])
    expect(linesOf('deploy -n shop web')).toEqual(['deploy web --namespace=shop'])
    expect(linesOf('deploy -l app=shop sts --all')).toEqual(['deploy --selector=app=shop', 'sts --all'])
  })

  test('are quoted as for a shell', () => {
    const { text, parsed } = readReferences(
      readArguments(['pod/web', "--for=jsonpath={.status.phase}='Running now'"], grammar('wait')),
      '',
    )
    expect(text).toBe(`pod/web --for='jsonpath={.status.phase}='\\''Running now'\\'''`)
    expect(parsed.references[0]?.waitFor).toEqual({ type: 'jsonpath', path: '{.status.phase}', value: 'Running now' })
  })

  test('of stdin keep their line numbers, and get the flags of their -', () => {
    const printed = 'deployment.apps/web configured\n\nWarning: old\njob.batch/old deleted\n'
    expect(linesOf('-', printed)).toEqual([
      'deployment.apps/web configured',
      '',
      'Warning: old',
      'job.batch/old deleted',
    ])
    expect(linesOf('- -n shop', printed)).toEqual([
      'deployment.apps/web --namespace=shop',
      '',
      'Warning: old',
      'job.batch/old deleted',
    ])
  })

  test('with a line break are refused, with the fix', () => {
    const { parsed } = readReferences(readArguments(['a/b created\nc/d created'], grammar('wait')), '')
    expect(parsed.mistakes).toEqual([
      { input: 'a/b created', message: expect.stringContaining('kubectl apply -f k8s/ | rollout-gate wait -') },
    ])
  })
})

describe('flags of the gate', () => {
  test('may be anywhere', () => {
    const { flags, references } = read('deployment/web --json --max-restarts 5 service/web --context=prod')
    expect(Object.fromEntries(flags)).toEqual({ json: 'true', 'max-restarts': '5', context: 'prod' })
    expect(references.map(({ words }) => words)).toEqual([['deployment/web'], ['service/web']])
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
    const { flags, references } = read('deployment/web --for=condition=Available --for=2m -o x', 'record')
    expect(Object.fromEntries(flags)).toEqual({ for: '2m', output: 'x' })
    expect(references[0]?.flags).toEqual(new Map([['for', 'condition=Available']]))
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
    expect(read('deployment/web --tiemout 5m').references.map(({ words }) => words)).toEqual([['deployment/web']])
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
