import type { EndpointsFinding } from '../../src/reasons/network.ts'
import { type Problem, problemSentence } from '../../src/reasons/reasons.ts'
import { createProblem, headline, hint } from '../kit/problems.ts'
import { toSubject } from '../kit/subject.ts'

const onService = { subject: toSubject('service/web'), container: undefined }

function sentence(finding: EndpointsFinding, ports?: readonly string[], cause?: Problem): string {
  return problemSentence(createProblem('no-endpoints', { finding, ports }, { ...onService, cause }))
}

describe('a Service without ready endpoints', () => {
  it.each<[EndpointsFinding, string]>([
    [{ type: 'pods-unreadable', endpoints: 1 }, 'service/web has 1 endpoint, none of them ready'],
    [
      { type: 'no-pods', workloads: [{ name: 'deployment/web', replicas: 0 }, { name: 'daemonset/web' }] },
      'service/web has no pods behind it: deployment/web is scaled to zero, daemonset/web has no pods',
    ],
    [
      { type: 'port-name-missing', port: 'http', declared: [] },
      'service/web: no container of the pods that it selects has a port named "http"',
    ],
    [
      { type: 'pods-ended', pods: 2, areAllDeleted: false },
      'service/web selects 2 pods, all of them failed or being deleted',
    ],
    [{ type: 'pods-not-ready', pods: 1, newPods: 1 }, 'service/web selects 1 pod, which is not ready'],
    [
      { type: 'pods-not-ready', pods: 3, newPods: 1 },
      'service/web selects 3 pods, 2 of them of an older revision, the new one not ready',
    ],
    [
      { type: 'endpoints-not-made', pods: 2, newPods: 2, readyPods: 1, endpoints: 0 },
      'service/web selects 2 pods; no endpoint takes traffic to the ready pod yet',
    ],
  ])('%j', (finding, text) => {
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
