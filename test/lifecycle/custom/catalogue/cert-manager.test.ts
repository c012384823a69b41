import { certManager, certManagerAcme, trustManager } from '../../../../src/lifecycle/custom/catalogue/cert-manager.ts'
import { iso } from '../../builders.ts'
import { type EntryCase, testEntries } from './cases.ts'

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

const request = (...conditions: readonly object[]) => ({
  apiVersion: 'cert-manager.io/v1',
  kind: 'CertificateRequest',
  spec: {},
  status: { conditions },
})
const approved = { type: 'Approved', status: 'True', reason: 'cert-manager.io' }
const pending = { type: 'Ready', status: 'False', reason: 'Pending' }

const issuer = (kind: string, status: string, reason: string, message = '') => ({
  apiVersion: 'cert-manager.io/v1',
  kind,
  spec: {},
  status: { conditions: [{ type: 'Ready', status, reason, message, observedGeneration: 1 }] },
})

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
  [
    'an Issuing condition that is False after a success is no failure',
    certificate(notReady, { type: 'Issuing', status: 'False', reason: 'Issued', message: 'successfully issued' }),
    { verdict: 'progressing', mentions: missing },
  ],
  [
    'an issued CertificateRequest is ready',
    request({ type: 'Ready', status: 'True', reason: 'Issued' }),
    { verdict: 'ready' },
  ],
  [
    'a CertificateRequest whose issuer does not exist progresses, since it may be created',
    request(approved, { ...pending, message: 'Referenced "Issuer" not found: issuer.cert-manager.io "ca" not found' }),
    { verdict: 'progressing', mentions: 'Referenced "Issuer" not found' },
  ],
  [
    'a denied CertificateRequest has failed',
    request(
      { type: 'Denied', status: 'True', reason: 'policy' },
      { ...pending, reason: 'Denied', message: 'was denied' },
    ),
    { verdict: 'failed', mentions: 'was denied' },
  ],
  [
    'an invalid CertificateRequest has failed',
    request(approved, { type: 'InvalidRequest', status: 'True', reason: 'BadDNSName', message: 'no such zone' }),
    { verdict: 'failed', mentions: 'no such zone' },
  ],
  ...['Issuer', 'ClusterIssuer'].flatMap((kind): readonly EntryCase[] => [
    [
      `a ${kind} whose account is registered is ready`,
      issuer(kind, 'True', 'ACMEAccountRegistered'),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} without its Secret progresses, since the Secret may be created`,
      issuer(kind, 'False', 'ErrGetKeyPair', 'secret "ca" not found'),
      { verdict: 'progressing', mentions: 'secret "ca" not found' },
    ],
    [
      `a ${kind} with an invalid configuration has failed`,
      issuer(kind, 'False', 'InvalidConfig', 'the private key is missing'),
      { verdict: 'failed', mentions: 'the private key is missing' },
    ],
    [
      `a ${kind} whose older spec was invalid progresses`,
      { ...issuer(kind, 'False', 'InvalidConfig', 'the private key is missing'), metadata: { generation: 2 } },
      { verdict: 'progressing' },
    ],
  ]),
])

const acme = (kind: string, state: string, reason?: string) => ({
  apiVersion: 'acme.cert-manager.io/v1',
  kind,
  spec: {},
  status: { state, reason },
})

testEntries(certManagerAcme, [
  ['a valid Order is ready', acme('Order', 'valid'), { verdict: 'ready' }],
  ['an Order that is ready to be finalized progresses', acme('Order', 'ready'), { verdict: 'progressing' }],
  [
    'an invalid Order has failed',
    acme('Order', 'invalid', 'Failed to finalize Order'),
    { verdict: 'failed', mentions: 'Failed to finalize Order' },
  ],
  [
    'a Challenge that waits for its DNS record progresses, and names the reason',
    acme('Challenge', 'pending', 'Waiting for DNS-01 challenge propagation'),
    { verdict: 'progressing', mentions: 'Waiting for DNS-01 challenge propagation' },
  ],
  ['a valid Challenge is ready', acme('Challenge', 'valid'), { verdict: 'ready' }],
  ['an expired Challenge has failed', acme('Challenge', 'expired'), { verdict: 'failed' }],
])

const bundle = (status: string, reason: string, message = '', observedGeneration = 2) => ({
  apiVersion: 'trust.cert-manager.io/v1alpha1',
  kind: 'Bundle',
  metadata: { generation: 2 },
  spec: { sources: [{ useDefaultCAs: true }], target: { configMap: { key: 'ca.crt' } } },
  status: { conditions: [{ type: 'Synced', status, reason, message, observedGeneration }] },
})

testEntries(trustManager, [
  ['a Bundle that is synced is ready', bundle('True', 'Synced'), { verdict: 'ready' }],
  [
    'a Bundle that was synced before its change progresses',
    bundle('True', 'Synced', '', 1),
    { verdict: 'progressing' },
  ],
  [
    'a Bundle without one of its sources waits for it',
    bundle('False', 'SourceNotFound', 'Bundle source was not found: secrets "ca" not found'),
    { verdict: 'progressing', mentions: 'secrets "ca" not found' },
  ],
  [
    'a Bundle whose target cannot be written is tried again',
    bundle('False', 'SyncConfigMapTargetFailed', 'Failed to sync bundle ConfigMap to namespace "shop"'),
    { verdict: 'progressing', mentions: 'to namespace "shop"' },
  ],
  ...(
    [
      ['SecretTargetsDisabled', 'Bundle has Secret targets but the feature is disabled'],
      ['SourceBuildError', 'Failed to build bundle sources: inline source contains invalid PEM data: no block'],
      ['SourceNotFound', 'no default package was specified when trust-manager was started'],
    ] as const
  ).map(
    ([reason, message]): EntryCase => [
      `a Bundle that only another spec, or another start of trust-manager, corrects has failed: ${message}`,
      bundle('False', reason, message),
      { verdict: 'failed', mentions: message },
    ],
  ),
])
