import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { isCurrent, whileStopped } from './states.ts'

const name = 'cert-manager'

export const certManager: Operator = {
  name,
  module: 'github.com/cert-manager/cert-manager@v1.21.2',
  // The module of its own program, cmd/controller, is not published.
  program: 'cmd',
  files: { 'cmd/main.go': readFileSync(join(import.meta.dirname, 'cert-manager.go'), 'utf8') },
  definitions: ['deploy/crds'],
  kinds: ['Issuer', 'Certificate', 'CertificateRequest'],
  args: (kubeconfig) => [`--kubeconfig=${kubeconfig}`],
  started: /controllers started/,
}

function issuer(name: string, spec: object): KubeObject {
  return { apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata: { name }, spec }
}

const selfSigned = issuer('self-signed', { selfSigned: {} })

/** A Certificate of the self-signed issuer; `spec` overrides fields. */
function certificate(host: string, spec: object = {}): KubeObject {
  const issuerRef = { name: 'self-signed', kind: 'Issuer', group: 'cert-manager.io' }
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name: 'web' },
    spec: { secretName: 'web-tls', dnsNames: [`${host}.example.com`], issuerRef, ...spec },
  }
}

/** The request for this host is issued, and the Certificate is ready for its present generation. */
function issuedFor(host: string): ClusterState {
  return (informer) =>
    informer.get('Certificate', 'web')?.['spec'].dnsNames[0] === `${host}.example.com`
      ? isCurrent('Certificate', 'web', 'Ready')(informer)
      : undefined
}

async function issued(fixture: Fixture): Promise<void> {
  await fixture.apply(selfSigned, certificate('one'))
  await fixture.until('the Certificate is ready', issuedFor('one'))
}

const common = { operator: name, inputs: { resources: 'certificate/web' } } as const
const stalling = { ...common.inputs, 'stall-timeout': '12s' }

export const certManagerScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-healthy`,
    state: 'healthy',
    note: 'a Certificate of a self-signed issuer',
    setup: (fixture) => fixture.apply(selfSigned, certificate('one')),
    expect: { outcome: 'ready' },
    decidedBy: issuedFor('one'),
    takesSeconds: 5,
  },
  {
    ...common,
    name: `${name}-issuer-missing`,
    state: 'failing',
    note: 'the issuer does not exist',
    inputs: stalling,
    setup: (fixture) => fixture.apply(certificate('one')),
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'self-signed',
    decidedBy: secondsAfterStart(2),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-request-denied`,
    state: 'failing',
    note: 'a policy denies the request',
    inputs: stalling,
    setup: async (fixture) => {
      await fixture.apply(issuer('self-signed', { ca: { secretName: 'missing' } }), certificate('one'))
      const request = await fixture.until('the request exists', (informer) => informer.all('CertificateRequest')[0])
      await deny(fixture, request)
    },
    expect: { outcome: 'failed' },
    cause: 'policy of the tests',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-issuer-without-secret`,
    state: 'failing',
    note: 'the Secret of the issuer does not exist',
    inputs: { ...stalling, resources: 'issuer/ca' },
    setup: (fixture) => fixture.apply(issuer('ca', { ca: { secretName: 'absent' } })),
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'absent',
    decidedBy: secondsAfterStart(2),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-slow`,
    state: 'slow',
    note: 'the issuer is created later',
    setup: (fixture) => fixture.apply(certificate('one')),
    during: async (fixture) => {
      await fixture.wait(15)
      await fixture.apply(selfSigned)
    },
    expect: { outcome: 'ready' },
    decidedBy: issuedFor('one'),
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-stale`,
    state: 'stale',
    note: 'the controller is stopped while another host name is applied',
    ...whileStopped(name, issued, (fixture) => fixture.apply(certificate('two'))),
    expect: { outcome: 'ready' },
    decidedBy: issuedFor('two'),
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-changed-during`,
    state: 'changed-during',
    note: 'the issuer is missing until the Certificate names another one',
    setup: (fixture) => fixture.apply(selfSigned, certificate('one', { issuerRef: { name: 'other', kind: 'Issuer' } })),
    during: async (fixture) => {
      await fixture.wait(8)
      await fixture.apply(certificate('two'))
    },
    expect: { outcome: 'ready' },
    decidedBy: issuedFor('two'),
    takesSeconds: 16,
  },
]

/** Denies a request as an approver with a policy does. An approved request cannot be denied any more. */
async function deny(fixture: Fixture, { metadata, status }: KubeObject): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+/, '')
  const condition = {
    type: 'Denied',
    status: 'True',
    reason: 'policy.example.com',
    message: 'denied by a policy of the tests',
    lastTransitionTime: now,
  }
  const others = (status?.conditions ?? []).filter(({ type }: { type: string }) => type !== 'Approved')
  const path = `${fixture.path('CertificateRequest', metadata.name)}/status`
  await fixture.api.patch(path, { status: { conditions: [...others, condition] } })
}
