import fc from 'fast-check'
import { loadKubeconfig } from '../src/cluster/kubeconfig.ts'
import { Redactor } from '../src/cluster/redact.ts'
import { parseDuration } from '../src/duration.ts'
import { UserError } from '../src/errors.ts'
import { readInputs } from '../src/inputs.ts'
import { compileJsonPath } from '../src/lifecycle/custom/wait-for.ts'
import { pullFailure } from '../src/lifecycle/workloads/image-pull.ts'
import { missingObject, probeFailure, runtimeError } from '../src/lifecycle/workloads/kubelet-messages.ts'
import { schedulingCauses } from '../src/lifecycle/workloads/scheduler-messages.ts'
import { linesForRecording, parseChecks } from '../src/plan/checks.ts'
import { loadCompiler, parseHealthChecks } from '../src/plan/health-checks.ts'
import { checkName, checkSelector, matchesSelector } from '../src/plan/names.ts'
import { parseReferences } from '../src/plan/parse-references.ts'
import { parseManifests } from '../src/plan/read-manifests.ts'
import { parseWaitFor } from '../src/plan/reference-flags.ts'
import { parseStreamLogs } from '../src/plan/stream-logs.ts'
import { limitObject } from '../src/recording/reader.ts'
import { readData } from './kit/rows.ts'
import { parameters } from './support/thorough.ts'

const compiler = await loadCompiler()
const ignore = () => {}
const object = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x' },
  status: { phase: 'Running', list: [{ a: 1 }] },
}

/** Reads a text; what it may throw is an error for the user. */
type Parser = (text: string) => unknown

/** The parts of which texts are made, by what reads them. */
const partsOf = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Readonly<
  Record<string, readonly string[]>
>

const parsers: readonly (readonly [string, Parser])[] = [
  ['references', parseReferences],
  ['output of kubectl apply', parseReferences],
  ['live logs', parseStreamLogs],
  ['durations', (text) => parseDuration(text, ignore)],
  [
    'inputs',
    (text) =>
      ['milestone-timeouts', 'expect-images', 'max-restarts', 'summary', 'timeout', 'on-superseded'].map((name) =>
        readInputs({ [name]: text }),
      ),
  ],
  ['names', (text) => checkName(text, 'apps', ignore)],
  ['label selectors', (text) => [checkSelector(text, ignore), matchesSelector(text, { app: 'x' })]],
  ['--for', (text) => parseWaitFor(text, ignore)],
  ['JSON paths', (text) => compileJsonPath(text)?.(object)],
  [
    'requests',
    (text) => {
      const { inputs } = readInputs({ 'http-checks': text })
      return [parseChecks(inputs), linesForRecording(text)]
    },
  ],
  ['manifests', (text) => parseManifests(text, 'stdin')],
  [
    'kubeconfigs',
    (text) => loadKubeconfig({ kubeconfig: text }, { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }),
  ],
  ['messages of the scheduler', schedulingCauses],
  ['messages of registries', pullFailure],
  ['messages of the kubelet', (text) => [runtimeError(text), missingObject(text), probeFailure(text)]],
]

describe.each(parsers)('a random text in place of %s', (name, parse) => {
  test('is parsed, or refused with an error for the user', () => {
    const parts = partsOf[name] ?? []
    const text = fc
      .array(
        fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...parts) }, fc.string({ unit: 'binary', maxLength: 5 })),
        { maxLength: 15 },
      )
      .map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, (written) => isReadOrRefused(() => parse(written))),
      parameters,
    )
  })
})

function isReadOrRefused(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof UserError) return true
    throw error
  }
}

describe('a CEL expression', () => {
  const part = fc.constantFrom(
    'status',
    '.phase',
    '==',
    "'x'",
    ' && ',
    'has(',
    ')',
    '.exists(c, ',
    'c.a',
    '[0]',
    '.?',
    '!',
    '1',
    ' in ',
  )

  test('of random parts is compiled and evaluated, or refused with an error for the user', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
        const current = JSON.stringify(parts.join('') || 'true')
        try {
          const [check] = await parseHealthChecks(`- {apiVersion: a/v1, kind: B, current: ${current}}`, 'checks.yaml')
          expect(typeof check?.current(object).holds).toBe('boolean')
        } catch (error) {
          expect(error).toBeInstanceOf(UserError)
        }
      }),
      parameters,
    )
  })

  test('returns a boolean for any random status', () => {
    const holds = compiler.condition(`status.list.exists(c, c.a == 'x') || status.phase == 'Ready'`)
    fc.assert(
      fc.property(fc.jsonValue(), (status) => {
        expect(typeof holds({ ...object, status } as never).holds).toBe('boolean')
      }),
      parameters,
    )
  })
})

describe('random JSON', () => {
  test('is still JSON after its redaction', () => {
    const { redact } = new Redactor()
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (fields, metadata) => {
        const redacted = redact({ ...fields, apiVersion: 'v1', kind: 'Pod', metadata } as never)
        expect(JSON.parse(JSON.stringify(redacted))).toMatchObject({ apiVersion: 'v1', kind: 'Pod' })
      }),
      parameters,
    )
  })

  test('is read from a recording without a change', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(limitObject(value)).toBe(value)
      }),
      parameters,
    )
  })
})
