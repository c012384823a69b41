import type { Fixture } from '../fixture.ts'
import { deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Targets that are ready although something that they name is missing, or although no pod proves their new version. */
export const unproven: Scenario[] = readScenarios('unproven', {
  'pods-of-the-older-version': {
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
  },
  'certificate-request-without-approval': {
    inputsFrom: ({ namespace }) => ({ resources: `certificatesigningrequest/${namespace}` }),
    setup: (fixture) => fixture.apply(certificateRequest(fixture)),
    after: (fixture) => fixture.remove('CertificateSigningRequest', fixture.namespace),
  },
})

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
