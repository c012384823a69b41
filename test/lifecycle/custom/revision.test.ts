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
import { iso, start } from '../../kit/objects.ts'
import { rows } from '../../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const sha = 'b0000002'.padEnd(40, '0')
const digest = `sha256:${'c'.repeat(64)}`

describe('a reported revision', () => {
  it.each(rows<[string, string, string]>(data, 'is the wanted one'))('is the wanted one: %s', (_, wanted, reported) => {
    expect(matchesRevision(wanted, reported)).toBe(true)
  })

  it.each([
    ['another commit', sha, 'a'.repeat(40)],
    ['six digits of a commit', sha.slice(0, 6), sha],
    ['the same branch with another commit', `main@sha1:${sha}`, `main@sha1:${'a'.repeat(40)}`],
    ['another version', '1.4.2', '1.4.20'],
    ['a tag without the v', 'v1.4.2', `1.4.2@${digest}`],
    ['another build of a version', '1.4.2+build.5', '1.4.2+build.6'],
    ['another numbered build of a version', '1.4.2+5', '1.4.2+6'],
    ['a named build of a version', '1.4.2', '1.4.2+build.5'],
    ['a version with another appended digest', '1.4.2+0123456789ab', '1.4.2+ba9876543210'],
    ['another digest of the same tag', `1.4.2@${digest}`, `1.4.2@sha256:${'d'.repeat(64)}`],
    ['another digest of a chart version', digest, `1.4.2+${'d'.repeat(12)}`],
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

  it('is older or newer than the awaited one, by the commits of the checkout', () => {
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
    [`1.4.1@${digest}`, '1.4.2', true],
    ['1.4.1+0123456789ab', '1.4.2+ba9876543210', true],
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
const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`
const artifactEntry = (revision: string, first: number, originRevision: string, status?: string) => ({
  ...entry(revision, first, status),
  metadata: { revision, originRevision },
})
const release = (version: number, chartVersion: string, status: string, ociDigest?: string) => ({
  ...(ociDigest && { ociDigest }),
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
    known: { wasDeployed, wasAttempted, wanted: [{ revision }] },
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
      'is at the revision if a newer commit with the same objects took over its entry of the history',
      {
        lastAppliedRevision: next,
        history: [
          { ...entry(next, -50), digest: 'sha256:same' },
          { ...entry(want, -50, 'HealthCheckFailed'), digest: 'sha256:same' },
        ],
      },
      'deployed',
    ],
    [
      'waits if the revision only failed before',
      { lastAppliedRevision: old, history: [entry(old, -90), entry(want, -50, 'ReconciliationFailed')] },
      'awaited',
    ],
    [
      'waits if a newer revision cancelled its health checks: that is no failure of it',
      {
        lastAppliedRevision: old,
        lastAttemptedRevision: want,
        conditions: [condition('Ready', 'False', 'HealthCheckCanceled')],
      },
      'awaited',
    ],
    [
      'is attempted if the OCI artifact that failed was made from it',
      {
        lastAppliedRevision: `latest@${digestOf('e')}`,
        lastAppliedOriginRevision: old,
        lastAttemptedRevision: `latest@${digestOf('f')}`,
        conditions: [condition('Ready', 'False', 'HealthCheckFailed')],
        history: [
          artifactEntry(`latest@${digestOf('f')}`, -10, want, 'HealthCheckFailed'),
          artifactEntry(`latest@${digestOf('e')}`, -90, old),
        ],
      },
      'attempted',
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

  it('is superseded, not rolled back, by a commit that reverts it', () => {
    const reverted = kustomization({
      lastAppliedRevision: next,
      history: [{ ...entry(next, -90), digest: 'sha256:old' }, entry(want, -50)],
    })
    const before = kustomization({
      lastAppliedRevision: old,
      history: [{ ...entry(old, -90), digest: 'sha256:old' }],
    })
    expect(arrivalOf(reverted, want, { wasDeployed: true, before })?.type).toBe('superseded')
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
        },
      },
    })
  })
})

describe('a Kustomization of an OCI artifact', () => {
  const [before, wanted, after] = ['a', 'b', 'c'].map((letter) => `latest@${digestOf(letter)}`) as [
    string,
    string,
    string,
  ]
  it.each([
    ['is at the digest of the applied artifact', wanted, { lastAppliedRevision: wanted }, 'deployed'],
    ['is at a shortened digest', digestOf('b').slice(0, 19), { lastAppliedRevision: wanted }, 'deployed'],
    [
      'is at the digest of its tag',
      `1.4.2@${digestOf('b')}`,
      { lastAppliedRevision: `1.4.2@${digestOf('b')}` },
      'deployed',
    ],
    ['is at its tag', '1.4.2', { lastAppliedRevision: `1.4.2@${digestOf('b')}` }, 'deployed'],
    ['waits at the digest before of the same tag', digestOf('b'), { lastAppliedRevision: before }, 'awaited'],
    [
      'waits at the digest before of the same version',
      `1.4.2@${digestOf('b')}`,
      { lastAppliedRevision: `1.4.2@${digestOf('a')}` },
      'awaited',
    ],
    [
      'is superseded by a newer digest of the same tag',
      digestOf('b'),
      { lastAppliedRevision: after, history: [entry(after, -10), entry(wanted, -50), entry(before, -90)] },
      'superseded',
    ],
    [
      'is rolled back to the digest before of the same tag',
      digestOf('b'),
      { lastAppliedRevision: before, history: [entry(before, -90), entry(wanted, -50)] },
      'rolled-back',
    ],
    [
      'is rolled back to a lower version, which its history has as newest',
      '1.4.2',
      {
        lastAppliedRevision: `1.4.1@${digestOf('c')}`,
        history: [entry(`1.4.1@${digestOf('c')}`, -10), entry(`1.4.2@${digestOf('b')}`, -50)],
      },
      'rolled-back',
    ],
  ])('%s', (_, revision, status, type) => {
    const object = kustomization({ lastAttemptedRevision: status.lastAppliedRevision, ...status })
    expect(arrivalOf(object, revision)?.type).toBe(type)
  })

  it('is named with the commit that it was made from', () => {
    const object = kustomization({ lastAppliedRevision: before, lastAppliedOriginRevision: on('main', 'd') })
    expect(arrivalOf(object, want)).toMatchObject({
      problem: { detail: { current: 'aaaaaaa (latest), made from ddddddd (main)' } },
    })
  })

  it('names what keeps Flux from the revision: the health checks of the one before', () => {
    const checking = 'Running health checks for revision main@sha1:a with a timeout of 5m'
    const busy = kustomization({
      lastAppliedRevision: old,
      lastAttemptedRevision: old,
      conditions: [condition('Ready', 'Unknown'), condition('Reconciling', 'True', 'Progressing', checking)],
    })
    expect(arrivalOf(busy, want)).toMatchObject({ problem: { detail: { complaint: checking } } })
    const building = [
      condition('Ready', 'Unknown'),
      condition('Reconciling', 'True', 'Progressing', 'Building manifests'),
    ]
    const begun = kustomization({ lastAppliedRevision: old, lastAttemptedRevision: old, conditions: building })
    expect(arrivalOf(begun, want)).toMatchObject({ problem: { detail: { complaint: undefined } } })
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

  /** Releases of one chart version, whose chart is in a registry: the controller appends the digest to the version. */
  const [first, second, third] = ['a', 'b', 'c'].map(digestOf) as [string, string, string]
  const ofDigest = (version: number, ociDigest: string, status: string, chartVersion = '1.4.2') =>
    release(version, `${chartVersion}+${ociDigest.slice(7, 19)}`, status, ociDigest)
  it.each([
    ['is at the digest of the chart of its newest release', { history: [ofDigest(2, second, 'deployed')] }, 'deployed'],
    [
      'is at the digest of the chart if the version is not changed by it',
      { history: [release(2, '1.4.2', 'deployed', second)] },
      'deployed',
    ],
    [
      'waits at the digest before of the same chart version',
      { history: [ofDigest(1, first, 'deployed')], lastAttemptedRevision: '1.4.2+aaaaaaaaaaaa' },
      'awaited',
    ],
    [
      'is attempted at the digest, although the release before has the same chart version',
      {
        history: [ofDigest(1, first, 'deployed')],
        lastAttemptedRevision: '1.4.2+bbbbbbbbbbbb',
        lastAttemptedRevisionDigest: second,
        conditions: [condition('Ready', 'Unknown', 'Progressing')],
      },
      'attempted',
    ],
    [
      'is superseded by another digest of the same chart version',
      { history: [ofDigest(3, third, 'deployed'), ofDigest(2, second, 'superseded')] },
      'superseded',
    ],
    [
      'is rolled back to the chart of a lower version',
      { history: [ofDigest(3, first, 'deployed', '1.4.1'), ofDigest(2, second, 'superseded')] },
      'rolled-back',
    ],
  ])('%s', (_, status, type) => {
    expect(arrivalOf(helmRelease(status), second)?.type).toBe(type)
  })

  it.each([
    ['with', (digest: string) => ofDigest(3, digest, 'deployed')],
    ['without', (digest: string) => release(3, '1.4.2', 'deployed', digest)],
  ])(
    'is superseded by another digest of a chart version that it was seen at, %s the digest in the version',
    (_, of) => {
      const before = helmRelease({ history: [of(second)] })
      const object = helmRelease({ history: [of(third)] })
      expect(arrivalOf(object, second, { wasDeployed: true, before })?.type).toBe('superseded')
    },
  )

  it('is at the commit of a chart in git, which is shortened in the chart version', () => {
    const history = [release(2, `1.4.2+${'b'.repeat(12)}`, 'deployed')]
    expect(arrivalOf(helmRelease({ history }), 'b'.repeat(40))?.type).toBe('deployed')
    expect(arrivalOf(helmRelease({ history }), 'a'.repeat(40))?.type).toBe('awaited')
  })

  it('goes on when a newer version cancelled the health checks of the one before, whose release then failed', () => {
    const status = {
      history: [release(2, '1.4.2', 'failed'), release(1, '1.4.1', 'deployed')],
      lastAttemptedRevision: '1.4.2',
      conditions: [condition('Ready', 'False', 'HealthCheckCanceled')],
    }
    expect(arrivalOf(helmRelease(status), '1.4.2')?.type).toBe('awaited')
  })
})
