import { reportSchema } from '../../src/gate/report-schema.ts'
import { causeFields, causeOf } from '../../src/gate/run-record.ts'
import { buildOutputs } from '../../src/outputs.ts'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { headline } from '../../src/report/headline.ts'
import { buildReport, readRecord } from '../../src/report/json-report.ts'
import { outcomeCountsText } from '../../src/report/log.ts'
import { mergeReports } from '../../src/report/merge-reports.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { createRecord, createTarget, createTargetRecord } from './builders.ts'
import { cases } from './cases.ts'
import { renderLog } from './whole-log.ts'

/** Two targets failed; a Service, an Ingress and an autoscaler only wait for the first of them. */
const record = cases['consequences'] ?? createRecord()
const failedResources = JSON.parse(buildOutputs(record, { report: '', summary: '' })['failed-resources'])

describe('a target that only waits for another one', () => {
  it('does not count as a failure in the headline', () => {
    expect(headline(record)).toContain('deployment/api: container app keeps crashing (exit code 2) (and 1 more)')
  })

  it('has a row below its cause', () => {
    const rows = renderSummary(record)
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|')[2]?.trim())
    expect(rows.slice(2, 7)).toEqual([
      '**deployment/api**',
      '↳ service/api',
      '↳ ingress/api',
      '↳ horizontalpodautoscaler/api',
      '**job/report**',
    ])
  })

  it('is counted separately and has one line in the log', () => {
    expect(outcomeCountsText(record.targets)).toBe('2 failed, 3 waiting for another target, 2 ready')
    const line = 'service/api, ingress/api, horizontalpodautoscaler/api wait for deployment/api'
    const log = renderLog(record, { color: false })
    expect(log.filter((each) => each.includes('wait for deployment/api'))).toEqual([`  ${line}`])
    expect(log.filter((each) => each.startsWith('::group::'))).toHaveLength(2)
  })

  it('has no annotation, but is named in the annotation of its cause', () => {
    const [first, ...others] = buildAnnotations(record)
    expect(first?.message).toContain('service/api, ingress/api, horizontalpodautoscaler/api wait for deployment/api')
    expect(others.map(({ title }) => title)).toEqual(['job/report: the Job failed'])
  })

  it('has its cause in failed-resources and in the report', () => {
    const causes = failedResources.map(({ target, causedBy }: Record<string, string>) => [target, causedBy])
    expect(causes).toEqual([
      ['deployment.apps/api', undefined],
      ['service/api', 'deployment.apps/api'],
      ['ingress.networking.k8s.io/api', 'deployment.apps/api'],
      ['horizontalpodautoscaler.autoscaling/api', 'deployment.apps/api'],
      ['job.batch/report', undefined],
    ])
    const { targets } = reportSchema.parse(JSON.parse(JSON.stringify(buildReport(record))))
    expect(targets.map(({ causedBy }) => causedBy).filter(Boolean)).toHaveLength(3)
  })

  it('has the namespace of its cause if that is another one', () => {
    const gateway = createTarget({ kind: 'Gateway', namespace: 'infra' })
    expect(causeFields(gateway, createTarget())).toEqual({ causedBy: 'gateway.apps/web', causedByNamespace: 'infra' })
    const route = createTargetRecord(causeFields(gateway, createTarget()))
    const [other, cause] = [
      createTargetRecord({ target: { ...gateway, namespace: 'shop' } }),
      createTargetRecord({ target: gateway }),
    ]
    expect(causeOf(route, [route, other, cause])).toBe(cause)
  })

  it('has the same cause after the reports of two gates are merged', () => {
    const report = reportSchema.parse(JSON.parse(JSON.stringify(buildReport(record))))
    const read = readRecord(report)
    const merged = mergeReports(
      [
        { name: 'eu', path: 'eu.json', record: read },
        { name: 'us', path: 'us.json', record: read },
      ],
      0,
    )
    const { targets } = merged
    const causes = targets.map((target) => {
      const cause = causeOf(target, targets)
      return cause === undefined ? -1 : targets.indexOf(cause)
    })
    expect(causes).toEqual([-1, 0, 0, 0, -1, -1, -1, -1, 7, 7, 7, -1, -1, -1])
  })
})
