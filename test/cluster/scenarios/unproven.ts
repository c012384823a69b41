import { secondsAfterStart } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { deployment, service, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const ready = { expect: { outcome: 'ready', reason: '' }, decidedBy: secondsAfterStart(0), takesSeconds: 20 }

/** Targets that are ready although something that they name is missing, or although no pod proves their new version. */
export const unproven: Scenario[] = [
  ...readScenarios('unproven'),
  {
    ...ready,
    name: 'named-objects-missing',
    inputs: { resources: 'ingress/web\nstatefulset/db' },
    setup: async (fixture) => {
      const backend = { service: { name: 'web', port: { number: 80 } } }
      const rules = [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }]
      const spec = { ingressClassName: 'no-such-class', tls: [{ secretName: 'web-tls' }], rules }
      const ingress = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web' }, spec }
      await fixture.apply(service('web'), ingress, statefulSet('db', {}, { replicas: 1 }))
    },
    decidedBy: (informer) =>
      informer.get('StatefulSet', 'db')?.['status']?.readyReplicas === 1 ? Date.now() : undefined,
    contains: {
      log: [
        'no IngressClass is named no-such-class: most controllers ignore it',
        'its TLS Secret web-tls does not exist',
        'its governing Service db does not exist',
      ],
    },
  },
  {
    ...ready,
    name: 'pods-of-the-older-version',
    inputs: { resources: 'pod -l version=1' },
    setup: async (fixture) => {
      const labelled = (version: string, image: string) => {
        const made = deployment('web', { image }, { replicas: 1 })
        const template = made['spec'].template
        return {
          ...made,
          spec: { ...made['spec'], template: { ...template, metadata: { labels: { app: 'web', version } } } },
        }
      }
      await fixture.rollOut(labelled('1', 'v1'))
      await fixture.apply(labelled('2', 'no-such-app:v9'))
      await fixture.until('the pod of the new version', (informer) => informer.all('Pod').length === 2)
    },
    contains: { log: ['runs an older version of deployment/web: gate deployment/web to prove its new version'] },
  },
  {
    name: 'certificate-request-without-approval',
    inputs: { 'stall-timeout': '5s' },
    inputsFrom: ({ namespace }) => ({ resources: `certificatesigningrequest/${namespace}` }),
    setup: (fixture) => fixture.apply(certificateRequest(fixture)),
    after: (fixture) => fixture.remove('CertificateSigningRequest', fixture.namespace),
    expect: { outcome: 'stalled', reason: 'not-reconciled' },
    decidedBy: secondsAfterStart(5),
    takesSeconds: 8,
    contains: { log: ['nobody has approved it yet', /kubectl certificate approve/] },
  },
]

/** A request for a client certificate, in PEM. Its key is not kept. */
const pem = [
  '-----BEGIN CERTIFICATE REQUEST-----',
  'MIHWMH8CAQAwHTENMAsGA1UECgwEc2hvcDEMMAoGA1UEAwwDd2ViMFkwEwYHKoZI',
  'zj0CAQYIKoZIzj0DAQcDQgAE3fVzaw+Ipah7xJ+YxvlpD2JSC0L5moZWWraFgxvj',
  'SS/1QeBKIwA5NSLs4KFPa7UhNzGPXoj5fkZJaF41pyCb2KAAMAoGCCqGSM49BAMC',
  'A0cAMEQCICauKOR02bI9yv4SANf90gCZzEJej71h5FKHu5t91vHwAiBpgJ9LXkxI',
  'UYxUUEyulVOGX7lO7UFJtrRTI3/xcxpuBg==',
  '-----END CERTIFICATE REQUEST-----',
].join('\n')

function certificateRequest({ namespace }: Fixture) {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: namespace },
    spec: {
      request: Buffer.from(`${pem}\n`).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
  }
}
