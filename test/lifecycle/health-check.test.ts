import type { KubeObject } from '../../src/cluster/objects.ts'
import { healthCheckRule } from '../../src/lifecycle/custom/health-check.ts'
import { parseHealthChecks } from '../../src/plan/health-checks.ts'
import { type Expected, expectAssessment } from '../kit/cases.ts'
import { rows, titled } from '../kit/rows.ts'
import { assessedTarget, read } from '../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const written = `
- apiVersion: example.com/v1
  kind: Widget
  current: status.state == 'Up'
  failed: status.state == 'Broken'
  inProgress: status.state == 'Moving'
`

/** With the further fields of the catalogue's entries. */
const further = `
- group: example.com
  kind: Widget
  current: status.state == 'Up'
  suspended: spec.paused == true || status.state == 'Waiting'
  resume: widgets promote {name} -n {namespace}
  stallHold: status.state == 'Cooling'
  cause: [messageOf('Ready')]
  milestones: [{ name: provisioned, done: has(status.id) }]
`

/** A status, or what a Widget has besides its name. */
type Fields = Partial<Pick<KubeObject, 'status' | 'spec' | 'metadata'>> | object

function widgetWith(fields: Fields): KubeObject {
  const { metadata, ...own } = 'status' in fields ? (fields as Partial<KubeObject>) : { status: fields }
  const named = { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2, ...metadata }
  return { apiVersion: 'example.com/v1', kind: 'Widget', ...own, metadata: named } as KubeObject
}

/** The assessment of a widget with these versions, by the second at which each was first seen. */
async function assessmentOf(seen: Readonly<Record<number, Fields>>, now: number, text = written) {
  const [check] = await parseHealthChecks(text, 'checks.yaml')
  if (check === undefined) throw new Error('There is one health check.')
  const rule = healthCheckRule(check)
  const versions = Object.entries(seen).map(([second, each]) => [Number(second), widgetWith(each)] as const)
  const object = versions.at(-1)?.[1]
  if (object === undefined) throw new Error('A widget that was never seen cannot be judged.')
  return read({ now, ...assessedTarget(rule, ...versions) }, rule, object)
}

type Case = readonly [
  title: string,
  versions: Readonly<Record<number, Fields>>,
  verdicts: Readonly<Record<number, string>>,
  expected: Omit<Expected, 'pods'>,
]

describe("a target with the user's own health check", () => {
  it.each(rows<[string, object, string]>(data, 'a target with a health check is'))(
    'is %s',
    async (_, status, expected) => {
      expect((await assessmentOf({ 0: status }, 60)).status).toBe(expected)
    },
  )

  it.each(rows<Case>(data, 'over time'))('%s', async (_, versions, verdicts, expected) => {
    for (const [second, verdict] of Object.entries(verdicts))
      expectAssessment(await assessmentOf(versions, Number(second)), verdict, expected)
  })

  it.each(titled(rows<[object, string]>(data, 'quotes the status'), ([, message]) => message))(
    'fails with the message "%s"',
    async (_, [status, message]) => {
      const { failure } = await assessmentOf({ 0: status }, 60)
      expect(failure?.message).toBe(message)
    },
  )
})

describe('a health check with the fields of a catalogue entry', () => {
  it.each(rows<Case>(data, 'further fields'))('%s', async (_, versions, verdicts, expected) => {
    for (const [second, verdict] of Object.entries(verdicts))
      expectAssessment(await assessmentOf(versions, Number(second), further), verdict, expected)
  })
})
