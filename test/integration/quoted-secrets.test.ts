import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { guessResource } from '../support/resources.ts'
import { startAction } from '../support/runner.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Values of the gated Secret, each as a custom resource quotes it. */
const quotes = {
  letters: ['swordfishing', 'swordfishing'],
  blanks: ['correct horse battery', 'correct horse battery'],
  url: ['p@ss/word-01', encodeURIComponent('p@ss/word-01')],
  json: ['quoted"word-02', JSON.stringify('quoted"word-02').slice(1, -1)],
  basic: ['basic-word-03', base64('admin:basic-word-03')],
} as const
const texts = Object.values(quotes).map(([, quoted]) => quoted)
const readable = [...texts, ...Object.values(quotes).map(([value]) => value), base64('basic-word-03').slice(4, 12)]
const chartValue = 'chart-value-04'
const fieldValue = 'field-value-05'
const annotationValue = 'annotation-value-06'

beforeEach(() => {
  server.discovery.serve(guessResource('example.com/v1', 'Widget'))
  server.discovery.serve(guessResource('helm.toolkit.fluxcd.io/v2', 'HelmRelease'))
})

test('the values of a Secret are shown nowhere, however a custom resource quotes them', async () => {
  const text = [...texts, `\x1b[32m${quotes.letters[0]}\x1b[0m`, fieldValue, annotationValue].join(' | ')
  const annotations = {
    note: JSON.stringify({ login: text }),
    copy: JSON.stringify({ spec: { login: text } }),
    settings: JSON.stringify({ apiKey: annotationValue }),
  }
  server.apply({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'shop', generation: 1, annotations },
    spec: { login: text, adminPassword: fieldValue },
    status: {
      observedGeneration: 1,
      error: text,
      reason: texts[0],
      failures: [{ cause: text }],
      conditions: [{ type: 'Ready', status: 'False', reason: 'LoginFailed', message: text }],
    },
  } as unknown as KubeObject)
  server.apply({
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: { name: 'r', namespace: 'shop', generation: 1 },
    spec: { values: { db: { password: chartValue } } },
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'False', reason: 'InstallFailed', message: `with ${chartValue}` }],
    },
  } as unknown as KubeObject)
  const data = Object.fromEntries(Object.entries(quotes).map(([name, [value]]) => [name, base64(value)]))
  const metadata = { name: 'db', namespace: 'shop' }
  const switches = { flag: base64('true'), app: base64('web'), zone: base64('default') }
  server.apply({ apiVersion: 'v1', kind: 'Secret', metadata, data: { ...data, ...switches } } as KubeObject)
  const record = join(folder, 'recording.ndjson')
  const inputs = {
    kubeconfig: server.kubeconfig(),
    namespace: 'shop',
    resources: 'widget/w helmrelease/r secret/db',
    timeout: '2s',
    record,
  }
  const ended = await startAction(programPath('index.js'), folder, inputs, { env: { NO_COLOR: '1' } }).ended
  const shown = {
    log: ended.log,
    summary: ended.summary,
    report: readFileSync(ended.outputs['report'] ?? '', 'utf8'),
    recording: readFileSync(record, 'utf8'),
    outputs: JSON.stringify(ended.outputs),
  }
  const leaks = Object.entries(shown).flatMap(([where, whole]) =>
    [...readable, chartValue, fieldValue, annotationValue]
      .filter((each) => whole.includes(each))
      .map((each) => `${each} in the ${where}`),
  )
  expect(leaks).toEqual([])
  for (const where of ['log', 'summary', 'report', 'recording'] as const) expect(shown[where]).toMatch(/\*\*\*|\\\*/)
  // Common words in a Secret do not make the rest unreadable.
  expect(shown.recording).toContain('"status":"False"')
  expect(shown.report).toContain('"namespace": "shop"')
})
