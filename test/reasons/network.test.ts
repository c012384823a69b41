import type { EndpointsFinding } from '../../src/reasons/network.ts'
import { type Problem, problemSentence } from '../../src/reasons/reasons.ts'
import { createProblem, headline, hint } from '../kit/problems.ts'
import { rows } from '../kit/rows.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const onService = { subject: toSubject('service/web'), container: undefined }

function sentence(finding: EndpointsFinding, ports?: readonly string[], cause?: Problem): string {
  return problemSentence(createProblem('no-endpoints', { finding, ports }, { ...onService, cause }))
}

describe('a Service without ready endpoints', () => {
  it.each(rows<[EndpointsFinding, string]>(data, 'a Service without ready endpoints'))('%j', (finding, text) => {
    expect(sentence(finding)).toBe(text)
  })

  it('for some of its ports names those ports', () => {
    expect(sentence({ type: 'port-name-missing', port: 'http', declared: [] }, ['http', '9090'])).toBe(
      'service/web has no ready endpoint for port http, 9090: no container of the pods that it selects has a port named "http"',
    )
  })

  it('because of a pod ends with the problem of the pod', () => {
    const cause = createProblem('claim-pending', {}, { subject: toSubject('pod/web-1-a'), container: undefined })
    expect(sentence({ type: 'pods-not-ready', pods: 2, newPods: 2 }, undefined, cause)).toBe(
      'service/web selects 2 pods, none of them ready: pod/web-1-a is not bound',
    )
  })

  it('of the new revision has a headline of its own', () => {
    const detail = (newPods: number) => ({ finding: { type: 'pods-not-ready', pods: 3, newPods } as const })
    expect(headline('no-endpoints', detail(1))).toBe('the Service has no ready endpoints of the new revision')
    expect(headline('no-endpoints', detail(3))).toBe('the Service has no ready endpoints')
  })

  it('because of a port name: the hint names the port', () => {
    expect(hint('no-endpoints', { finding: { type: 'port-name-missing', port: 'http', declared: [] } })).toMatch(
      /^Add the name "http" to a port of the container, or correct targetPort in deployment\/web/,
    )
  })
})
