import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { printLines, printMessage, redactOutput } from '../src/cli/output.ts'
import { TerminalLog } from '../src/cli/terminal-log.ts'
import type { KubeObject } from '../src/cluster/objects.ts'
import { secretsInHeader } from '../src/cluster/secret-values.ts'
import { Secrets } from '../src/cluster/secrets.ts'
import type { EndedRunRecord } from '../src/gate/run-record.ts'
import { commentBody } from '../src/github/comment.ts'
import { buildOutputs } from '../src/outputs.ts'
import { RecordingWriter } from '../src/recording/writer.ts'
import { buildAnnotations, buildWarnings } from '../src/report/annotations.ts'
import { titleOfRecord } from '../src/report/headline.ts'
import { renderReport } from '../src/report/json-report.ts'
import { LogPrinter } from '../src/report/log.ts'
import { renderSummary } from '../src/report/summary.ts'
import { RedactedOutput, type Reporter } from '../src/run/redacted-output.ts'
import { renderChange } from '../src/views/changes.ts'
import { line, paintLines } from '../src/views/line.ts'
import { renderSingleCheck } from '../src/views/single-check.ts'
import { ManualClock } from './cluster-api/manual-clock.ts'
import {
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createRecord,
  createRequest,
  createTarget,
  createTargetRecord,
  start,
} from './report/builders.ts'
import { parameters, runs, sampled } from './support/thorough.ts'

import.meta.jest.setTimeout(60_000)

/** Made up. Each part of eight characters is found in no other text. */
const secretTexts = {
  'with special characters': 'Xq7v&Kw2z/Rm9t"Jh4<é+Bn6',
  'of letters only': 'correcthorsebatterystaple',
  'of several words': 'zebra quilt marble tundra',
  'with quotes': "it's 'quoted' %41 \\n",
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const urlOf = (text: string) => encodeURIComponent(text)
const hexOf = (text: string, before: string) =>
  [...Buffer.from(text)].map((byte) => `${before}${byte.toString(16).padStart(2, '0')}`).join('')
const json = (text: string) => JSON.stringify(text).slice(1, -1)
/** Each character that matches, written by its code. */
const coded = (text: string, characters: RegExp, write: (code: number) => string) =>
  text.replace(characters, (character) => write(character.codePointAt(0) ?? 0))
const hex4 = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`

/** How a text may write a secret, and what is around it there. */
const forms: Readonly<Record<string, (secret: string) => readonly [before: string, form: string, after: string]>> = {
  'in plain text': (secret) => ['password ', secret, '.'],
  'in brackets': (secret) => ['(', secret, ')'],
  'in JSON': (secret) => ['{"login":"', json(secret), '"}'],
  'in JSON within JSON': (secret) => ['"{\\"login\\":\\"', json(json(secret)), '\\"}"'],
  'in the JSON of Go': (secret) => ['{"login":"', coded(json(secret), /[&<>]/g, hex4), '"}'],
  'in the JSON of Python': (secret) => ['{"login": "', coded(json(secret), /[^ -~]/g, hex4), '"}'],
  'in a string literal of Python': (secret) => [
    "'",
    coded(secret.replaceAll("'", "\\'"), /[^ -~]/g, (code) => `\\x${code.toString(16)}`),
    "'",
  ],
  'in a bytes literal of Python': (secret) => [
    "b'",
    coded(secret, /[^ -~]/g, (code) => hexOf(String.fromCodePoint(code), '\\x')),
    "'",
  ],
  'in the JSON of PHP': (secret) => ['{"login":"', coded(json(secret).replaceAll('/', '\\/'), /[^ -~]/g, hex4), '"}'],
  'in a string literal of JavaScript': (secret) => [
    '"',
    coded(secret, /[^\w ]/g, (code) => `\\u{${code.toString(16)}}`),
    '"',
  ],
  'in octal escapes': (secret) => [
    '"',
    coded(secret, /[^ -~]/g, (code) =>
      [...Buffer.from(String.fromCodePoint(code))].map((byte) => `\\${byte.toString(8)}`).join(''),
    ),
    '"',
  ],
  'in escapes of every character': (secret) => ['"', coded(secret, /./gu, hex4), '"'],
  'in a URL': (secret) => ['https://me:', urlOf(secret), '@db/shop'],
  'in a URL with lower-case escapes': (secret) => [
    '?x=',
    urlOf(secret).replace(/%../g, (code) => code.toLowerCase()),
    '&y',
  ],
  'in a URL with few escapes': (secret) => ['?x=', encodeURI(secret), ''],
  'in a URL with all escapes': (secret) => ['?x=', hexOf(secret, '%'), ''],
  'in form data': (secret) => ['', new URLSearchParams({ x: secret }).toString().slice(2), '&y=1'],
  'in a URL within the JSON of PHP': (secret) => ['"http:\\/\\/db\\/', urlOf(urlOf(secret)), '"'],
  'in HTML': (secret) => [
    '<b>',
    coded(
      secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
      /['+/]/g,
      (code) => `&#${code};`,
    ),
    '</b>',
  ],
  'in numeric HTML entities': (secret) => [
    '<b>',
    coded(secret, /[^\w ]/g, (code) => `&#x${code.toString(16)};`),
    '</b>',
  ],
  'in YAML quotes': (secret) => ["password: '", secret.replaceAll("'", "''"), "'"],
  'in YAML quotes within YAML': (secret) => ["note: 'password: ''", secret.replaceAll("'", "''''"), "'''"],
  'in wrapped lines': (secret) => ['  0:05  Failed: ', secret.replaceAll(' ', '\n         '), '\n'],
  'in CSV quotes': (secret) => ['1,"', secret.replaceAll('"', '""'), '",2'],
  'in shell quotes': (secret) => ["login '", secret.replaceAll("'", "'\\''"), "'"],
  'in shell escapes': (secret) => ['login ', secret.replace(/[&/"<'%\\ ]/g, '\\$&'), ''],
  'in base64': (secret) => ['data: ', base64(secret), ''],
  'in a Basic authorization header': (secret) => ['Authorization: Basic ', base64(`me:${secret}`), ''],
  'in base64 between other bytes': (secret) => ['', base64(`root:${secret}!`), ''],
  'in base64 after other bytes': (secret) => ['', base64(`admin:${secret}`), ''],
  'in base64url': (secret) => ['/', Buffer.from(`u:${secret}`).toString('base64url'), '/'],
  'in base64 within the JSON of PHP': (secret) => ['"', base64(`u:${secret}`).replaceAll('/', '\\/'), '"'],
  'in a text that is cut': (secret) => ['login with ', urlOf(secret).slice(0, 17), '…'],
  'in a command of the runner': (secret) => ['::set-output name=x::', secret, '##[endgroup]'],
}

const isRemoved = (code: number) =>
  /^[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]$/u.test(String.fromCodePoint(code)) &&
  !/[\s\x85]/.test(String.fromCodePoint(code))
/** What `plain` removes: all characters, and escape sequences. */
const removed = [
  ...Array.from({ length: 0x110000 }, (_, code) => code)
    .filter(isRemoved)
    .map((code) => String.fromCodePoint(code)),
  ...[
    '\x1b[32m',
    '\x1b[0m',
    '\x1b[1;31m',
    '\x1b[K',
    '\x1b]0;title\x07',
    '\x1b]8;;\x1b\\',
    '\x1b(B',
    '\x1bM',
    '\x9b1m',
    '\ud800',
  ],
]

/** What a reader could see: without what is removed, and without what marks a secret in Markdown and HTML. */
function seen(text: string): string {
  const invisible = /\x1b\[[0-?]*[ -/]*[@-~]|[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Cs}]/gu
  return text
    .replace(/&#8203;|&#x200b;/g, '')
    .replace(invisible, '')
    .replace(/\\(?=[\\`*_[\]~])/g, '')
}

/** The parts of eight characters of a form that a text contains. */
function leaksOf(form: string, text: string): string[] {
  const shown = seen(text)
  const hidden = seen(form)
  const parts = Array.from({ length: Math.max(0, hidden.length - 11) }, (_, index) =>
    hidden.slice(index + 2, index + 10),
  )
  return parts.filter((part) => !/^(?:\\u00..)?(?:\\|%|&)|\s{6}/.test(part) && shown.includes(part))
}

function withEveryText(text: string): EndedRunRecord {
  const target = createTarget({ source: { file: 'web.yaml', line: 3 } })
  const problem = createProblem({
    message: text,
    headline: text,
    evidence: [
      createEvidence({ title: text, text: `a\n${text}\nb` }),
      createEvidence({ type: 'log', title: 'Log', text }),
    ],
  })
  const texts = { message: text, hint: text, hintWithoutLog: text, changes: [text], notes: [text], warnings: [text] }
  const answer = { at: start, pod: 'web-1', seconds: 0.1, body: text, error: text, location: text, right: false }
  return createRecord({
    hint: text,
    verdict: { outcome: 'failed', reason: 'crash-loop', message: text },
    entries: [createEntry({ text }), createEntry({ kind: 'problem', text })],
    targets: [
      createTargetRecord({
        ...texts,
        target,
        outcome: 'failed',
        reason: 'crash-loop',
        milestones: [createMilestone({ message: text })],
        problems: [problem],
      }),
    ],
    httpChecks: [createRequest({ request: text, answers: [answer] })],
    annotations: [text],
  })
}

/** Everything that leaves, with a text in each of its fields. */
async function everyOutput(text: string, secrets: Secrets): Promise<Readonly<Record<string, string>>> {
  const record = withEveryText(text)
  const [log, terminal, view]: string[][] = [[], [], []]
  const output = (lines: string[]) => redactOutput({ write: (written) => lines?.push(written), isTTY: true }, secrets)
  const run = async (reporter: Reporter & { end(record: EndedRunRecord): void }) => {
    const clock = new ManualClock()
    const redactor = new RedactedOutput(reporter, secrets, clock)
    redactor.follow(() => [])
    redactor.onStart(() => record, [text])
    for (const entry of record.entries) redactor.onEntry(entry)
    redactor.onLog({ at: start, target: 0, pod: 'web', container: 'app', type: 'line', text })
    redactor.onWarning(text)
    clock.advance(60_000)
    await Promise.resolve()
    reporter.end(redactor.redact(record))
    return redactor
  }
  const printer = new LogPrinter((lines) => log?.push(...lines), { color: true, groups: true })
  const redactor = await run({
    onStart: (present, notices) => printer.onStart(present, notices),
    onEntry: (entry) => printer.onEntry(entry),
    onLog: (of) => printer.onLog(of),
    onWarning: (warning) => log?.push(warning),
    end: (ended) => printer.end(ended),
  })
  const views = new TerminalLog(output(terminal ?? []), { color: true, drawsState: false, groups: false })
  await run(views)
  const styles = ['green', 'red', undefined] as const
  const object = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', uid: 'u', annotations: { note: text } },
    spec: { text },
    status: { message: text },
  } as unknown as KubeObject
  const change = {
    at: start,
    type: 'MODIFIED',
    object,
    existedBefore: true,
    by: text,
    before: { a: 1 },
    after: object,
  } as const
  const shown = output(view ?? [])
  for (const columns of [20, 30, 40, undefined])
    for (const style of styles) {
      const paint = { color: true, redact: secrets.redact, ...(columns && { columns }) }
      shown.write(`${paintLines(line(2, { text, ...(style && { style }) }, 'more'), paint)}\n`)
    }
  for (const length of [0, 960, 970, 980]) printMessage(shown, `${' x'.repeat(length / 2)} ${text}`)
  for (const format of ['text', 'json'])
    printLines(shown, renderChange(change, start, { format, color: true, redact: secrets.redact }))
  const redacted = redactor.redact(record)
  shown.write(renderSingleCheck(redacted, { color: true } as never).join('\n'))
  const repository = { repositoryUrl: 'https://github.example/a/b' }
  const origin = { commit: 'abcdef0123', logUrl: 'https://github.example/log' }
  const path = join(folder, 'recording.ndjson')
  const recording = new RecordingWriter(
    path,
    {
      recording: 'rollout-gate/v1',
      startedAt: new Date(start).toISOString(),
      inputs: {},
      targets: [{ ...createTarget(), manifest: object }],
    } as never,
    secrets.redact,
  )
  recording.write({ at: start, type: 'ADDED', object })
  recording.write({ at: start, type: 'ERROR', what: 'pods', code: 500, message: text } as never)
  await recording.end(start)
  return {
    log: log?.join('\n') ?? '',
    terminal: terminal?.join('') ?? '',
    view: view?.join('') ?? '',
    summary: renderSummary(redacted),
    report: renderReport(redacted),
    outputs: JSON.stringify(buildOutputs(redacted, { report: 'r', summary: 's' })),
    comment: commentBody(redacted, { ...origin, run: repository as never, name: 'Rollout', tracked: new Map() }),
    status: titleOfRecord(redacted),
    annotations: JSON.stringify([...buildAnnotations(redacted), ...buildWarnings(redacted)]),
    recording: readFileSync(path, 'utf8'),
  }
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'redaction-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const secretsKnown = new Secrets()
for (const secret of Object.values(secretTexts)) secretsKnown.addFromSecret('password', secret)

test('every output shows a text of the cluster that contains no secret', async () => {
  const shown = await everyOutput('zebra-quilt', new Secrets())
  expect(Object.entries(shown).flatMap(([where, text]) => (seen(text).includes('zebra-quilt') ? [] : where))).toEqual(
    [],
  )
})

describe('a secret', () => {
  const cases = Object.entries(forms).flatMap(([name, formOf]) =>
    Object.entries(secretTexts)
      .filter(([, secret]) => name !== 'in wrapped lines' || secret.includes(' '))
      .map(([type, secret]) => [`${type} ${name}`, name, secret, formOf(secret)] as const),
  )

  test.each(cases)('%s is redacted', (_, __, ___, [before, form, after]) => {
    expect(leaksOf(form, secretsKnown.redact(`${before}${form}${after}`))).toEqual([])
  })

  test.each(cases)(
    '%s is redacted if an invisible character splits the secret',
    (_, __, ___, [before, form, after]) => {
      const leaking = sampled(removed, 40, form.length + before.length).flatMap((character, index) => {
        const place = 1 + (index % Math.max(1, form.length - 1))
        const text = `${before}${form.slice(0, place)}${character}${form.slice(place)}${after}`
        return leaksOf(form, secretsKnown.redact(text)).map((part) => [part, text])
      })
      expect(leaking.slice(0, 3)).toEqual([])
    },
  )

  test.each(cases)(
    '%s is redacted if at least the first eight characters of the secret remain',
    (_, name, secret, [before, form]) => {
      const [, shortest = ''] = forms[name]?.(secret.slice(0, 8)) ?? []
      const leaking = Array.from(form.slice(shortest.length), (_, index) => index).flatMap((more) => {
        const cut = form.slice(0, shortest.length + more)
        return leaksOf(form, secretsKnown.redact(`${before}${cut}…`)).map((part) => [part, cut])
      })
      expect(leaking).toEqual([])
    },
  )

  test('in any of these forms, split by invisible characters, is redacted in every output', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...cases),
        fc.array(fc.tuple(fc.constantFrom(...removed), fc.nat(60)), { maxLength: 3 }),
        async ([, , , [before, form, after]], breaks) => {
          const fromTheEnd = breaks.toSorted(([, one], [, other]) => other - one)
          const broken = fromTheEnd.reduce(
            (text, [character, place]) => `${text.slice(0, place)}${character}${text.slice(place)}`,
            form,
          )
          const shown = await everyOutput(`${before}${broken}${after}`, secretsKnown)
          const leaks = Object.entries(shown).flatMap(([where, text]) =>
            leaksOf(form, text).map((part) => `${part} in ${where}`),
          )
          expect(leaks).toEqual([])
        },
      ),
      runs(200),
    )
  })
})

describe('redaction does not change', () => {
  const files = (name: string) => readdirSync(join(import.meta.dirname, name), { recursive: true, withFileTypes: true })
  /** All that logs, summaries and reports of recorded rollouts contain, and the documentation. */
  const texts = ['report/snapshots', '../docs'].flatMap((name) =>
    files(name)
      .filter((each) => each.isFile() && /\.(?:md|txt|log|json|snap)$/.test(each.name))
      .flatMap((each) => readFileSync(join(each.parentPath, each.name), 'utf8').split('\n')),
  )
  const values = [
    '1',
    'https',
    'web',
    'true',
    'false',
    'default',
    'production',
    'postgres',
    '8080',
    'shop',
    'main',
    'ready',
    'admin',
    'info',
  ]
  const names = [
    'app',
    'enabled',
    'username',
    'POSTGRES_PASSWORD',
    'token',
    'DB_HOST',
    'password',
    'X-Forwarded-Proto',
    'existingSecret',
  ]

  test('logs, summaries and documentation if Secrets and variables contain common words', () => {
    const secrets = new Secrets()
    for (const name of names)
      for (const value of values)
        for (const learn of [secrets.addFromSecret, secrets.addFromSetting, secrets.addFromText]) learn(name, value)
    expect(texts.length).toBeGreaterThan(1_000)
    const changed = texts.filter((text) => secrets.redact(text) !== text)
    expect(changed).toEqual([])
  })

  test('an encoded word that is no secret', () => {
    const words = [...new Set(texts.flatMap((text) => text.match(/[\p{L}\p{N}][\p{L}\p{N}/:.-]+/gu) ?? []))]
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...Object.values(forms)),
        (some, formOf) => {
          const text = formOf(some.join(' ')).join('')
          if (!/Basic|:\/\/me:/.test(text)) expect(secretsKnown.redact(text)).toBe(text)
        },
      ),
      parameters,
    )
  })

  /** What objects of Kubernetes, their events and their logs consist of. */
  const label = fc.stringMatching(/^[a-z]{3,12}(?:-[a-z0-9]{2,10}){0,3}$/)
  const number = fc.nat()
  const hash = fc.stringMatching(/^[0-9a-f]{64}$/)
  const image = fc.tuple(label, label, number, hash).map(([host, name, tag, digest]) => ({
    tagged: `${host}.example:5000/${name}/${name}:v${tag}.1-rc.2`,
    pinned: `${host}.example/${name}@sha256:${digest}`,
    id: `docker://sha256:${digest.slice(0, 12)}…${digest.slice(0, 8)}`,
  }))
  const ordinary = fc.oneof(
    label,
    fc
      .tuple(label, fc.stringMatching(/^[bcdfghjklmnpqrstvwxz2456789]{10}-[bcdfghjklmnpqrstvwxz2456789]{5}$/))
      .map((parts) => parts.join('-')),
    image.chain((images) => fc.constantFrom(...Object.values(images))),
    number.map(String),
    number.map((some) => `${some}Mi`),
    fc.double({ noNaN: true }).map(String),
    fc.uuid(),
    fc.ipV4().map((address) => `${address}:8080`),
    fc.ipV6(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.array(label, { minLength: 2, maxLength: 6 }).map((parts) => `/${parts.join('/')}.yaml`),
    label.map((name) => `https://${name}.shop.svc.cluster.local:8443/${name}?page=2&sort=${name}`),
    label.map((name) => `http://${name}:8080…`),
    fc.tuple(label, label).map(([name, value]) => `--${name}=${value}`),
    fc.tuple(label, label).map(([name, value]) => `${name}.example.com/${value}: "true"`),
  )
  const sentence = fc.array(ordinary, { minLength: 1, maxLength: 12 })

  test('generated names, numbers, paths, images and addresses', () => {
    fc.assert(
      fc.property(sentence, sentence, fc.constantFrom(' ', '\n', ', ', '": "'), (settings, words, between) => {
        const secrets = new Secrets()
        for (const secret of Object.values(secretTexts)) secrets.addFromSecret('password', secret)
        for (const value of [...settings, settings.join('\n'), settings.join(' '), JSON.stringify({ name: settings })])
          for (const name of ['LOG_LEVEL', 'config.json', 'ENDPOINT'])
            for (const learn of [secrets.addFromSetting, secrets.addFromText]) learn(name, value)
        const text = [...words, ...settings].join(between)
        expect(secrets.redact(text)).toBe(text)
      }),
      runs(300),
    )
  })

  test.each(values)('an HTTP header with the common value %s', (value) => {
    for (const name of ['X-Forwarded-Proto', 'X-Attempt', 'Host', 'X-App'])
      expect(secretsInHeader(name, value)).toEqual([])
  })
})
