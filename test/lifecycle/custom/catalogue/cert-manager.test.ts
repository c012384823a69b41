import { certManager } from '../../../../src/lifecycle/custom/catalogue/cert-manager.ts'
import { iso } from '../../builders.ts'
import { testEntries } from './cases.ts'

const certificate = (...conditions: readonly object[]) => ({
  apiVersion: 'cert-manager.io/v1',
  kind: 'Certificate',
  metadata: { generation: 2 },
  spec: { secretName: 'tls', issuerRef: { name: 'ca', kind: 'Issuer' } },
  status: { conditions: conditions.map((each) => ({ observedGeneration: 2, lastTransitionTime: iso(0), ...each })) },
})

const missing = 'Issuing certificate as Secret does not exist'
const notReady = { type: 'Ready', status: 'False', reason: 'DoesNotExist', message: missing }
const refused = {
  type: 'Issuing',
  status: 'False',
  reason: 'Failed',
  message: 'The certificate request has failed to complete and will be retried: acme: order is invalid',
}

testEntries(certManager, [
  [
    'an issued Certificate is ready',
    certificate({ type: 'Ready', status: 'True', reason: 'Ready', message: 'Certificate is up to date' }),
    { verdict: 'ready' },
  ],
  [
    'a Certificate is ready while it is renewed',
    certificate({ type: 'Ready', status: 'True' }, { type: 'Issuing', status: 'True', reason: 'Renewing' }),
    { verdict: 'ready' },
  ],
  [
    'a Certificate that is being issued progresses',
    certificate(notReady, { type: 'Issuing', status: 'True', reason: 'DoesNotExist', message: missing }),
    { verdict: 'progressing', mentions: missing },
  ],
  [
    'a Certificate whose issuance failed has failed',
    certificate(notReady, refused),
    { verdict: 'failed', mentions: 'order is invalid' },
  ],
  [
    'a failed issuance for an older spec does not count',
    certificate(notReady, { ...refused, observedGeneration: 1 }),
    { verdict: 'progressing', mentions: missing },
  ],
  [
    'a Certificate that was ready with its older spec is not ready',
    certificate({ type: 'Ready', status: 'True', observedGeneration: 1 }),
    { verdict: 'progressing' },
  ],
])
