import type { KubeObject } from '../../../src/cluster/objects.ts'
import { genericRule } from '../../../src/lifecycle/custom/generic.ts'
import { withRevision } from '../../../src/lifecycle/custom/revision.ts'
import {
  ageByCheckout,
  isLowerVersion,
  matchesRevision,
  parseRevision,
  shortRevision,
} from '../../../src/plan/revision.ts'
import { iso, start } from '../builders.ts'

const sha = 'b0000002'.padEnd(40, '0')
const digest = `sha256:${'c'.repeat(64)}`

describe('a reported revision', () => {
  it.each([
    ['a full commit', sha, sha],
    ['a short commit', sha.slice(0, 7), sha],
    ['a commit in upper case', sha.slice(0, 9).toUpperCase(), sha],
    ['a commit on a branch, as Flux reports it', sha, `main@sha1:${sha}`],
    ['a commit on a branch, as Flux reported it before version 2', sha, `main/${sha}`],
    ['a short commit on a branch', `main@sha1:${sha.slice(0, 8)}`, `main@sha1:${sha}`],
    ['a commit on another branch', `release@sha1:${sha}`, `main@sha1:${sha}`],
    ['a tag', 'v1.4.2', `v1.4.2@sha1:${sha}`],
    ['a tag by its reference', 'refs/tags/v1.4.2', `v1.4.2@sha1:${sha}`],
    ['a tag that looks like a commit', '20260131', `20260131@sha1:${sha}`],
    ['a chart version', '1.4.2', '1.4.2'],
    ['a chart version with an appended digest', '1.4.2', '1.4.2+0123456789ab'],
    ['a digest of an OCI artifact', digest, `latest@${digest}`],
    ['a digest alone', digest.slice(7), digest],
    ['a tag of an OCI artifact', '1.4.2', `1.4.2@${digest}`],
    ['a word that is equal', 'abc123', 'abc123'],
  ])('is the wanted one: %s', (_, wanted, reported) => {
    expect(matchesRevision(wanted, reported)).toBe(true)
  })

  it.each([
    ['another commit', sha, 'a'.repeat(40)],
    ['six digits of a commit', sha.slice(0, 6), sha],
    ['the same branch with another commit', `main@sha1:${sha}`, `main@sha1:${'a'.repeat(40)}`],
    ['another version', '1.4.2', '1.4.20'],
    ['another build of a version', '1.4.2+build.5', '1.4.2+build.6'],
    ['a longer tag', 'v1.4', `v1.4.2@sha1:${sha}`],
    ['nothing', sha, ''],
  ])('is not the wanted one: %s', (_, wanted, reported) => {
    expect(matchesRevision(wanted, reported)).toBe(false)
  })

  it('is short in messages', () => {
    expect([sha, `main@sha1:${sha}`, '1.4.2+0123456789ab', 'v1.4.2', digest].map(shortRevision)).toEqual([
      'b000000',
      'b000000 (main)',
      '1.4.2',
      'v1.4.2',
      'ccccccc',
    ])
  })

  it('is older or newer by the commits of the checkout', () => {
    const wanted = { revision: sha, older: ['a'.repeat(40)], newer: ['d'.repeat(40)] }
    expect(ageByCheckout(wanted, `main@sha1:${'a'.repeat(40)}`)).toBe('older')
    expect(ageByCheckout(wanted, 'ddddddd')).toBe('newer')
    expect(ageByCheckout(wanted, 'e'.repeat(40))).toBeUndefined()
  })

  it.each([
    ['1.4.1', '1.4.2', true],
    ['1.10.0', '1.9.0', false],
    ['1.4.2-rc.1', '1.4.2', true],
    ['1.4.2', '1.4.2', undefined],
    [sha, '1.4.2', undefined],
  ])('%s is lower than %s: %s', (one, other, lower) => {
    expect(isLowerVersion(one, other)).toBe(lower)
  })

  it.each(['main', 'HEAD', 'latest', 'refs/heads/main', '', 'app='])(
    'cannot be "%s", which names no one revision',
    (text) => {
      const mistakes: string[] = []
      expect(parseRevision(text, (message) => mistakes.push(message))).toBeUndefined()
      expect(mistakes).toHaveLength(1)
    },
  )

  it('may name its source', () => {
    expect(parseRevision('app=v1.2', fail)).toEqual({ source: 'app', revision: 'v1.2' })
    expect(parseRevision(digest, fail)).toEqual({ revision: digest })
  })
})

function fail(message: string): void {
  throw new Error(message)
}

const condition = (type: string, status: string, reason = '', message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: iso(-60),
  observedGeneration: 2,
})

/** A Kustomization as kustomize-controller writes it (https://github.com/fluxcd/kustomize-controller/blob/v1.9.6/api/v1/kustomization_types.go). */
function kustomization(status: object, spec: object = {}): KubeObject {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'shop', namespace: 'flux-system', uid: 'k', generation: 2 },
    spec: { interval: '10m', ...spec },
    status: { observedGeneration: 2, conditions: [condition('Ready', 'True')], ...status },
  } as KubeObject
}

/** A HelmRelease as helm-controller writes it (https://github.com/fluxcd/helm-controller/blob/main/api/v2/helmrelease_types.go). */
function helmRelease(status: object, spec: object = {}): KubeObject {
  return { ...kustomization(status, spec), apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' }
}

const on = (branch: string, letter: string) => `${branch}@sha1:${letter.repeat(40)}`
const [old, want, next] = [on('main', 'a'), on('main', 'b'), on('main', 'c')]
const entry = (revision: string, first: number, status = 'ReconciliationSucceeded') => ({
  digest: `sha256:${revision.slice(-6)}`,
  firstReconciled: iso(first),
  lastReconciled: iso(first + 1),
  lastReconciledStatus: status,
  metadata: { revision },
})
const release = (version: number, chartVersion: string, status: string) => ({
  version,
  chartVersion,
  status,
  chartName: 'web',
  lastDeployed: iso(-60),
})

interface Facts {
  readonly wasDeployed?: boolean
  readonly wasAttempted?: boolean
  readonly before?: KubeObject
}

function arrivalOf(
  object: KubeObject,
  revision: string,
  { wasDeployed = false, wasAttempted = false, before }: Facts = {},
) {
  const facts = {
    startedAt: start,
    firstSeenAt: start,
    time: (text?: string | null) => (text ? Date.parse(text) : undefined),
  }
  return withRevision(genericRule, { revisions: [{ revision }] }, () => true).arrival?.(object, {
    ...facts,
    wasDeployed,
    wasAttempted,
    before,
  })
}

describe('a Kustomization at a revision', () => {
  it.each([
    ['is at the applied revision', { lastAppliedRevision: want, lastAttemptedRevision: want }, 'deployed'],
    [
      'is at the revision that an OCI artifact was made from',
      { lastAppliedRevision: `v1@${digest}`, lastAppliedOriginRevision: want },
      'deployed',
    ],
    [
      'is not at the attempted revision',
      { lastAppliedRevision: old, lastAttemptedRevision: want, conditions: [condition('Ready', 'Unknown')] },
      'attempted',
    ],
    [
      'is attempted until the status names it as applied, after Ready',
      { lastAppliedRevision: old, lastAttemptedRevision: want },
      'attempted',
    ],
    [
      'is attempted if Ready=False is about the revision',
      {
        lastAppliedRevision: old,
        lastAttemptedRevision: want,
        conditions: [condition('Ready', 'False', 'BuildFailed')],
      },
      'attempted',
    ],
    [
      'waits while a dependency is not ready',
      {
        lastAppliedRevision: old,
        lastAttemptedRevision: want,
        conditions: [condition('Ready', 'False', 'DependencyNotReady')],
      },
      'awaited',
    ],
    ['waits at another revision', { lastAppliedRevision: old, lastAttemptedRevision: old }, 'awaited'],
    [
      'is superseded by a newer revision in front of it',
      { lastAppliedRevision: next, history: [entry(next, -10), entry(want, -50), entry(old, -90)] },
      'superseded',
    ],
    [
      'is rolled back to an older one that was moved to the front',
      { lastAppliedRevision: old, history: [entry(old, -90), entry(want, -50)] },
      'rolled-back',
    ],
    [
      'waits if the revision only failed before',
      { lastAppliedRevision: old, history: [entry(old, -90), entry(want, -50, 'ReconciliationFailed')] },
      'awaited',
    ],
    [
      'waits while the present spec is not observed',
      { observedGeneration: 1, lastAppliedRevision: next, history: [entry(next, -10), entry(want, -50)] },
      'awaited',
    ],
  ])('%s', (_, status, type) => {
    expect(arrivalOf(kustomization(status), want)?.type).toBe(type)
  })

  it('is superseded by what came after the revision that the gate saw, without a history', () => {
    const before = kustomization({ lastAppliedRevision: old })
    expect(arrivalOf(kustomization({ lastAppliedRevision: next }), want, { wasDeployed: true, before })?.type).toBe(
      'superseded',
    )
    expect(arrivalOf(kustomization({ lastAppliedRevision: old }), want, { wasDeployed: true, before })?.type).toBe(
      'rolled-back',
    )
  })

  it('names what is deployed, since when, and why nothing comes', () => {
    const suspended = kustomization({ lastAppliedRevision: old, history: [entry(old, -60)] }, { suspend: true })
    expect(arrivalOf(suspended, want)).toMatchObject({
      problem: {
        detail: {
          operator: 'Flux',
          wanted: 'bbbbbbb (main)',
          current: 'aaaaaaa (main)',
          beforeStartMs: 60_000,
          complaint: 'it is suspended',
          intervalMs: 600_000,
        },
      },
    })
  })
})

describe('a HelmRelease at a revision', () => {
  const stalled = [condition('Ready', 'False', 'UpgradeFailed'), condition('Stalled', 'True', 'RetriesExceeded')]
  it.each([
    ['is at the chart version of the newest release', { history: [release(2, '1.4.2', 'deployed')] }, 'deployed'],
    [
      'is at a version with an appended digest',
      { history: [release(2, '1.4.2+0123456789ab', 'deployed')] },
      'deployed',
    ],
    [
      'is not at a version whose release failed',
      {
        history: [release(2, '1.4.2', 'failed'), release(1, '1.4.1', 'deployed')],
        lastAttemptedRevision: '1.4.2',
        conditions: [condition('Ready', 'False')],
      },
      'attempted',
    ],
    [
      'has failed once no retry is left',
      { history: [release(2, '1.4.2', 'failed')], lastAttemptedRevision: '1.4.2', conditions: stalled },
      'attempted',
    ],
    [
      'waits at another version',
      { history: [release(1, '1.4.1', 'deployed')], lastAttemptedRevision: '1.4.1' },
      'awaited',
    ],
    [
      'is superseded by a higher version',
      { history: [release(3, '1.5.0', 'deployed'), release(2, '1.4.2', 'superseded')] },
      'superseded',
    ],
    [
      'is rolled back to a lower version',
      { history: [release(3, '1.4.1', 'deployed'), release(2, '1.4.2', 'superseded')] },
      'rolled-back',
    ],
    [
      'waits after a rollback of a failed release, while retries are left',
      {
        history: [release(3, '1.4.1', 'deployed'), release(2, '1.4.2', 'failed')],
        lastAttemptedRevision: '1.4.2',
        conditions: [condition('Ready', 'False')],
      },
      'attempted',
    ],
  ])('%s', (_, status, type) => {
    expect(arrivalOf(helmRelease(status), '1.4.2')?.type).toBe(type)
  })
})
