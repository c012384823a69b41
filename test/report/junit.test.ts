import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as junit2json from 'junit2json'
import testResults from 'test-results-parser'
import { validateXML } from 'xmllint-wasm'
import { renderJunit } from '../../src/report/junit.ts'
import {
  at,
  createEvidence,
  createProblem,
  createTarget,
  createTargetRecord,
  createTimeline,
  reached,
} from './builders.ts'
import { cases } from './cases.ts'

const schema = readFileSync(join(import.meta.dirname, 'junit.xsd'), 'utf8')

async function mistakesIn(contents: string): Promise<readonly string[]> {
  const { errors } = await validateXML({ xml: [{ fileName: 'junit.xml', contents }], schema: [schema] })
  return errors.map(({ message }) => message)
}

const failed = createTargetRecord({
  target: createTarget({ source: { file: 'k8s/web.yaml', line: 12 } }),
  outcome: 'failed',
  reason: 'image-not-found',
  message: 'the registry has no image "acme/web:v2"',
  hint: 'Push it, or correct `image:`.',
  endedAt: at(17),
  milestones: reached({ created: 0, scheduled: 2.5 }),
  problems: [createProblem({ evidence: [createEvidence({ text: 'Failed <to> pull & "run"' })] })],
})
const waiting = createTargetRecord({
  target: createTarget({ apiVersion: 'v1', kind: 'Service' }),
  outcome: 'progressing',
  reason: 'no-endpoints',
  message: 'has no ready endpoints',
  causedBy: 0,
})
const broken = createTimeline({
  finishedAt: at(22),
  verdict: { outcome: 'failed', reason: 'image-not-found', message: 'deployment/web: no image' },
  targets: [failed, waiting, createTargetRecord({ target: createTarget({ name: 'api' }) })],
})

describe('a JUnit report', () => {
  it.each(Object.entries(cases))(
    'of the summary case %s is valid by the schemas of its readers',
    async (_, timeline) => {
      expect(await mistakesIn(renderJunit(timeline))).toEqual([])
    },
  )

  it('has the same suites, cases and results for the reader junit2json', async () => {
    const report = await junit2json.parse(renderJunit(broken))
    expect(report).toMatchObject({ tests: 3, failures: 1, errors: 0, time: 22 })
    const suites = report !== null && report !== undefined && 'testsuite' in report ? (report.testsuite ?? []) : []
    expect(suites.map(({ name, skipped, failures }) => [name, failures, skipped])).toEqual([
      ['deployment/web', 1, 0],
      ['service/web', 0, 1],
      ['deployment/api', 0, 0],
    ])
    expect(suites[0]?.properties).toEqual(
      expect.arrayContaining([
        { name: 'milestone.scheduled', value: 2.5 },
        { name: 'source', value: 'k8s/web.yaml:12' },
      ]),
    )
    expect(suites[0]?.testcase?.[0]).toMatchObject({
      classname: 'shop.Deployment',
      time: 17,
      failure: [{ type: 'image-not-found', message: 'deployment/web: the registry has no image "acme/web:v2"' }],
      'system-out': [expect.stringContaining('Failed <to> pull & "run"')],
    })
  })

  it('has the same cases and results for the reader test-results-parser', () => {
    const folder = mkdtempSync(join(tmpdir(), 'junit-'))
    try {
      const path = join(folder, 'junit.xml')
      writeFileSync(path, renderJunit(broken))
      const { result } = testResults.parseV2({ type: 'junit', files: [path] })
      const found = result.suites.flatMap((suite) => suite.cases.map(({ name, status }) => [name, status]))
      expect(found).toEqual([
        ['deployment/web', 'FAIL'],
        ['service/web', 'SKIP'],
        ['deployment/api', 'PASS'],
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('contains no character that XML 1.0 does not have', async () => {
    const message = 'a\u0000b\u001b[31m\ud800\ufffe<![CDATA[ ]]> & "c"\r\n\ttab'
    const hostile = createTargetRecord({ outcome: 'failed', reason: 'crash-loop', message, endedAt: at(1) })
    const text = renderJunit(createTimeline({ targets: [hostile] }))
    expect(await mistakesIn(text)).toEqual([])
    expect(text).not.toMatch(/[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u)
  })

  it('of a gate without targets is one case with an error', async () => {
    const verdict = { outcome: 'misconfigured', reason: 'input-invalid', message: 'resources: write one' } as const
    const text = renderJunit(createTimeline({ targets: [], entries: [], verdict }))
    expect(await mistakesIn(text)).toEqual([])
    expect(await junit2json.parse(text)).toMatchObject({ tests: 1, failures: 0, errors: 1 })
  })
})
