import { ApiError } from '../src/cluster/failures.ts'
import { distinctRequests } from '../src/cluster/feed.ts'
import { loadKubeconfig } from '../src/cluster/kubeconfig.ts'
import type { KubeObject } from '../src/cluster/objects.ts'
import { Redactor } from '../src/cluster/redact.ts'
import { PrivateKeyRedactor } from '../src/cluster/secret-values.ts'
import { Secrets } from '../src/cluster/secrets.ts'
import { WatchedRequests } from '../src/cluster/store.ts'
import { addDiagnosis } from '../src/diagnosis/diagnosis.ts'
import { EvidenceReader } from '../src/diagnosis/evidence-reader.ts'
import { parseDuration } from '../src/duration.ts'
import { ApiHealth } from '../src/gate/api-health.ts'
import { Gate } from '../src/gate/gate.ts'
import { isEndedRecord } from '../src/gate/run-record.ts'
import { readInputs } from '../src/inputs.ts'
import { compileJsonPath } from '../src/lifecycle/custom/wait-for.ts'
import { checkName, checkNamespace, checkSelector, matchesSelector } from '../src/plan/names.ts'
import { parseReferences } from '../src/plan/parse-references.ts'
import { parseWaitFor } from '../src/plan/reference-flags.ts'
import { readHeader } from '../src/recording/reader.ts'
import { buildAnnotations } from '../src/report/annotations.ts'
import {
  escapeHtml,
  escapeMarkdown,
  escapeProse,
  inlineCode,
  mermaidName,
  safeLine,
  safeLines,
  shortenWords,
} from '../src/report/escape.ts'
import { renderReport } from '../src/report/json-report.ts'
import { renderSummary } from '../src/report/summary.ts'
import { recordedSettings } from '../src/run/recorded-run.ts'
import { changeJson, changeLines } from '../src/views/changes.ts'
import { added, allSynced, at, createGate, createTarget, createWorkload, run, runUntil, synced } from './kit/gate.ts'
import { iso, make, moment, podIs } from './kit/objects.ts'
import { readData } from './kit/rows.ts'
import { createEntry } from './report/builders.ts'
import { renderLog } from './report/whole-log.ts'
import { cpuMs } from './support/cpu.ts'
import { recordedEvents, recordingPath, titledRecordings } from './support/recordings.ts'
import { sampled } from './support/thorough.ts'

const widgetKind = { apiVersion: 'acme.io/v1', kind: 'Widget' }

/** Parts that regular expressions repeat, by what they are. A text of many of them makes a super-linear one slow. */
const { parts } = readData(import.meta.filename.replace('.test.ts', '.yaml')) as {
  readonly parts: Readonly<Record<string, string>>
}
const namedParts = Object.entries(parts)

/**
 * Fails if `work` grows faster than its input: it takes long, and twice the length takes more than three times as long.
 * @param length of the longer text; linear work on it takes some milliseconds
 */
function expectLinear(work: (text: string) => unknown, part: string, length = 30_000): void {
  const timeOf = (size: number) => cpuMs(() => void work(`${part.repeat(size / part.length)}~`))
  const slow = () => timeOf(length) > 50 && timeOf(length) > 3 * timeOf(length / 2)
  // A pause of the garbage collector is not repeated.
  expect(slow() && slow()).toBe(false)
}

const noMistake = () => {}

/** Secrets that begin like the parts. */
const knownSecrets = new Secrets()
for (const part of [...Object.values(parts), 'eyJ', 'http', 'a…b'])
  knownSecrets.addFromSecret('password', `${part.repeat(20)}|`)

const readers: readonly [string, (text: string) => unknown][] = [
  ['parse a duration', (text) => parseDuration(text, noMistake)],
  ['parse a duration after a number', (text) => parseDuration(`1h${text}`, noMistake)],
  ['check a name', (text) => checkName(text, 'apps', noMistake)],
  ['check a namespace', (text) => checkNamespace(text, noMistake)],
  ['check a label selector', (text) => checkSelector(text, noMistake)],
  ['check the values of a label selector', (text) => checkSelector(`a in (${text}`, noMistake)],
  ['match a label selector', (text) => matchesSelector(text, {})],
  ['parse a --for', (text) => parseWaitFor(text, noMistake)],
  ['parse a --for with a path', (text) => parseWaitFor(`jsonpath={.${text}`, noMistake)],
  ['compile a JSONPath', (text) => compileJsonPath(`{.a${text}}`)],
  ['parse the output of kubectl apply', (text) => parseReferences(text)],
  ['parse a reference', (text) => parseReferences(`deployment/web ${text}`)],
  ['read milestone timeouts', (text) => readInputs({ 'milestone-timeouts': text })],
  ['read expected images', (text) => readInputs({ 'expect-images': text })],
  ['read an expected image', (text) => readInputs({ 'expect-images': `a=${text}` })],
  ['read a boolean input', (text) => readInputs({ summary: text })],
  ['read a number', (text) => readInputs({ 'max-restarts': text })],
  ['clean a line', safeLine],
  ['clean several lines', safeLines],
  ['escape Markdown', escapeMarkdown],
  ['escape prose', escapeProse],
  ['escape code', inlineCode],
  ['escape HTML', escapeHtml],
  ['escape a name in a diagram', mermaidName],
  ['shorten long words', (text) => shortenWords(text, 40)],
  ['redact secrets in a text', knownSecrets.redact],
  ['redact the lines of a key', (text) => new PrivateKeyRedactor().redact(text)],
  ['find the secrets in a value', (text) => new Secrets().addFromSecret('password', text.slice(0, 10_000))],
]

describe.each(readers.map((reader, row) => [...reader, row] as const))('the time to %s', (_, work, row) => {
  test.each(sampled(namedParts, 4, row))('grows at most in proportion to the number of %s in the text', (_, part) => {
    expectLinear(work, part)
  })
})

test('the time to redact does not grow with the number of secrets', () => {
  const knowing = (count: number) => {
    const secrets = new Secrets()
    for (let index = 0; index < count; index += 1) secrets.addFromSecret('token', `open-sesame-${index}`)
    return secrets
  }
  const texts = Array.from({ length: 2_000 }, (_, index) => `cannot log in with "open-sesame-${index}" `.repeat(5))
  const msWith = (secrets: Secrets) => cpuMs(() => void texts.map(secrets.redact))
  const [few, many] = [knowing(100), knowing(10_000)]
  const slow = () => msWith(many) > 400 && msWith(many) > 3 * msWith(few)
  expect(slow() && slow()).toBe(false)
})

/**
 * Fails if `work` takes long, and twice the size takes `factor` times as long or more.
 * @param factor 3 for work that grows with its size in proportion, 6 if it may grow with the square
 */
function expectGrowth(work: (size: number) => unknown, size: number, factor = 3): void {
  const msOf = (count: number) => cpuMs(() => void work(count))
  const slow = () => msOf(size) > 200 && msOf(size) > factor * msOf(size / 2)
  expect(slow() && slow()).toBe(false)
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('the time', () => {
  test('of a gate grows no faster than the events about one pod', () => {
    const { target, pod, creating } = createWorkload('web')
    expectGrowth((count) => {
      const events = numbers(count).map((index) => ({
        ...make.event(pod(), { reason: 'Unhealthy', message: `${index}`, lastTimestamp: iso(index % 60) }),
        metadata: { name: `e-${index}`, namespace: 'shop', resourceVersion: `${index}` },
      }))
      run([at(0, creating, allSynced), at(60, added(...events))], { targets: [target] })
    }, 1_000)
  })

  test('of a gate grows no faster than the number of pods that die in turn', () => {
    const { target, pod, creating } = createWorkload('web')
    expectGrowth((count) => {
      const deaths = numbers(count).map((index) =>
        at(index / 1_000, added(pod(podIs.dead(1, index / 1_000), { name: `web-${index}` }))),
      )
      expect(run([at(0, creating, allSynced), ...deaths], { targets: [target] }).outcome).toBe('stalled')
    }, 2_000)
  })

  test('of a gate grows no faster than the length of a chain of owners', () => {
    const widgetAt = (index: number): KubeObject => {
      const ownerReferences = [{ ...widgetKind, name: `w-${index - 1}`, uid: `${index - 1}` }]
      return { ...widgetKind, metadata: { name: `w-${index}`, namespace: 'shop', uid: `${index}`, ownerReferences } }
    }
    expectGrowth((count) => {
      const steps = [at(0, synced('Widget'), added(...numbers(count).toReversed().map(widgetAt)))]
      const target = createTarget({ ...widgetKind, name: 'w-0' })
      expect(runUntil(1, steps, { targets: [target] }).targets).toHaveLength(1)
    }, 10_000)
  })

  test.each([
    ['a patch', changeJson],
    ['lines of YAML', changeLines],
  ])('to render a change as %s grows no faster than the changed texts of a list', (_, render) => {
    const object = (count: number, text: string) => ({
      ...widgetKind,
      metadata: { name: 'w' },
      spec: { args: numbers(count).map((index) => `${text} ${index}`) },
    })
    expectGrowth((count) => {
      const [before, after] = [object(count, 'old'), object(count, 'new')]
      return render({ at: 0, type: 'MODIFIED', object: after, existedBefore: false, before, after }, 0)
    }, 2_000)
  })

  test('to observe API health grows no faster than the answers of one watch', () => {
    const request = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
    expectGrowth((count) => {
      const health = new ApiHealth(new WatchedRequests(), { list: () => [] })
      for (const index of numbers(count)) {
        health.observe({ type: 'ALIVE', ...request, at: index * 1_000 })
        if (index % 10 === 0) health.silentWatches(index * 1_000, [request], [request])
      }
    }, 20_000)
  })
})

test.each([
  ['in one namespace grows no faster than their number', () => 'shop', 3],
  ['in different namespaces grows no faster than the square of their number', (index: number) => `shop-${index}`, 6],
] as const)('the time to gate missing targets %s', (_, namespaceOf, factor) => {
  expectGrowth(
    (count) => {
      const targets = numbers(count).map((index) =>
        createTarget({ name: `web-${index}`, namespace: namespaceOf(index) }),
      )
      const lists = distinctRequests(
        targets.map(({ apiVersion, kind, namespace }) => ({ apiVersion, kind, namespace })),
      )
      const gate = createGate([[]], { targets })
      const isMissing = async () => Promise.reject(new ApiError(404, 'not found'))
      const cluster = { get: isMissing, readLog: isMissing, findDeniedAccess: async () => [] }
      const evidence = new EvidenceReader(gate, cluster, () => {}, 20)
      for (const list of lists) {
        gate.handle([{ type: 'SYNCED', ...list, at: moment(1) }])
        expect(gate.requests).toBeDefined()
      }
      for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
      for (const target of targets.keys()) evidence.onEntry(createEntry({ kind: 'verdict', outcome: 'failed', target }))
    },
    1_000,
    factor,
  )
})

test('the number of masked secrets does not grow with the certificates of an authority bundle', () => {
  const certificate = `-----BEGIN CERTIFICATE-----\n${'QUJD'.repeat(16)}\n-----END CERTIFICATE-----\n`
  const masks = (count: number) => {
    const bundle = Buffer.from(
      numbers(count)
        .map((index) => certificate.replace('QUJD', `${index}`.padStart(4, 'A')))
        .join(''),
    ).toString('base64')
    const cluster = { name: 'c', cluster: { server: 'https://c', 'certificate-authority-data': bundle } }
    const kubeconfig = JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: { token: 'open-sesame' } }],
      clusters: [cluster],
    })
    return loadKubeconfig({ kubeconfig }, { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }).secrets.length
  }
  expect(masks(150)).toBe(masks(1))
})

/** Recordings whose messages the rules interpret. */
const names = [
  'image-not-found',
  'crash-loop',
  'unschedulable-taint',
  'quota',
  'configmap-volume-missing',
  'claim-pending',
]
const textFields = /^(?:message|note|phase|image|imageID|containerID|controlledBy|storageClassName)$/

/** A copy in which every free text contains the hostile one. */
function withText(value: unknown, text: string, name = ''): unknown {
  if (typeof value === 'string') return textFields.test(name) ? `${value}${text}${value}` : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => withText(item, text))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withText(item, text, key)]))
}

describe.each(titledRecordings(names))('the time to gate %s', (_, name) => {
  test.each(sampled(namedParts, 16, names.indexOf(name)))(
    'grows at most in proportion to the %s in its messages',
    async (_, part) => {
      const path = recordingPath(name)
      const header = await readHeader(path)
      const events = await recordedEvents(path)
      expectLinear(
        (text) => {
          const { redact } = new Redactor()
          const gate = new Gate(header.targets ?? [], recordedSettings(header), () => true)
          for (const event of events) {
            if (gate.verdict !== undefined) break
            gate.handle([
              'object' in event ? { ...event, object: redact(withText(event.object, text) as KubeObject) } : event,
            ])
          }
          for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
          const record = addDiagnosis(gate.record(), gate.store, 0)
          if (!isEndedRecord(record)) throw new Error('The gate has no verdict.')
          return [renderLog(record), renderSummary(record), renderReport(record), buildAnnotations(record)]
        },
        part,
        20_000,
      )
    },
  )
})
