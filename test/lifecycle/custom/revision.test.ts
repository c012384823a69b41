import type { KubeObject } from '../../../src/cluster/objects.ts'
import { genericRule } from '../../../src/lifecycle/custom/generic.ts'
import { addRevisionCheck } from '../../../src/lifecycle/custom/revision.ts'
import {
  ageByCheckout,
  isLowerVersion,
  isWantedRevision,
  parseRevision,
  shortRevision,
} from '../../../src/plan/revision.ts'
import { iso } from '../../kit/objects.ts'
import { rows } from '../../kit/rows.ts'
import { reader } from '../../kit/rule.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const sha = 'b0000002'.padEnd(40, '0')
const digest = `sha256:${'c'.repeat(64)}`

describe('a reported revision', () => {
  it.each(rows<[string, string, string]>(data, 'is the wanted one'))('matches %s', (_, wanted, reported) => {
    expect(isWantedRevision(wanted, reported)).toBe(true)
  })

  it.each(rows<[string, string, string]>(data, 'is not the wanted one'))('does not match %s', (_, wanted, reported) => {
    expect(isWantedRevision(wanted, reported)).toBe(false)
  })

  it('is shortened in messages', () => {
    expect([sha, `main@sha1:${sha}`, '1.4.2+0123456789ab', 'v1.4.2', digest].map(shortRevision)).toEqual([
      'b000000',
      'b000000 (main)',
      '1.4.2',
      'v1.4.2',
      'ccccccc',
    ])
  })

  it('is older or newer than the expected revision by the commits of the checkout', () => {
    const wanted = { revision: sha, older: ['a'.repeat(40)], newer: ['d'.repeat(40)] }
    expect(ageByCheckout(wanted, `main@sha1:${'a'.repeat(40)}`)).toBe('older')
    expect(ageByCheckout(wanted, 'ddddddd')).toBe('newer')
    expect(ageByCheckout(wanted, 'e'.repeat(40))).toBeUndefined()
  })

  it.each([
    ['is lower than a version with a higher patch number', '1.4.1', '1.4.2', true],
    ['is not lower than a version with a lower minor number', '1.10.0', '1.9.0', false],
    ['that is a release candidate is lower than its release', '1.4.2-rc.1', '1.4.2', true],
    ['cannot be ordered beside an equal version', '1.4.2', '1.4.2', undefined],
    ['is lower than a higher version, whatever its digest is', `1.4.1@${digest}`, '1.4.2', true],
    ['is lower than a higher version, whatever both builds are', '1.4.1+0123456789ab', '1.4.2+ba9876543210', true],
    ['that is a commit cannot be ordered beside a version', sha, '1.4.2', undefined],
  ])('%s', (_, one, other, lower) => {
    expect(isLowerVersion(one, other)).toBe(lower)
  })
})

describe('an expected revision', () => {
  it.each(['main', 'HEAD', 'latest', 'refs/heads/main', '', 'app='])(
    'is refused if it is "%s", which names no single revision',
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
const release = (version: number, chartVersion: string, status: string, ociDigest?: string) => ({
  ...(ociDigest && { ociDigest }),
  version,
  chartVersion,
  status,
  chartName: 'web',
  lastDeployed: iso(-60),
})

/** `c` is a commit on main, `latest@c` and `sha256:c` have a digest, `1.4.2+c` has a shortened one. */
function toRevision(text: string): string {
  return text
    .replace(/^([a-f])$/, (_, letter: string) => on('main', letter))
    .replace(/@([a-f])$/, (_, letter: string) => `@${digestOf(letter)}`)
    .replace(/^sha256:([a-f])$/, (_, letter: string) => digestOf(letter))
    .replace(/\+([a-f])$/, (_, letter: string) => `+${letter.repeat(12)}`)
}

/** An entry of a Kustomization, `c -50 HealthCheckFailed`, or a release: `2 1.4.2+b deployed b`. */
function toEntry(text: string): object {
  const [first = '', second = '', status = '', ociDigest] = text.split(' ')
  if (/^\d+$/.test(first)) return release(Number(first), toRevision(second), status, ociDigest && digestOf(ociDigest))
  const [, revision = '', at, result, origin, digest] =
    /^(\S+) (-\d+)(?: ([A-Z]\w+))?(?: from (\S+))?(?: as (\S+))?$/.exec(text) ?? []
  const own = entry(toRevision(revision), Number(at), result)
  const metadata = { ...own.metadata, ...(origin && { originRevision: toRevision(origin) }) }
  return { ...own, metadata, ...(digest && { digest: `sha256:${digest}` }) }
}

interface WrittenStatus {
  readonly lastAppliedRevision?: string
  readonly lastAppliedOriginRevision?: string
  readonly history?: readonly string[]
  readonly conditions?: readonly ReturnType<typeof condition>[]
}

function toStatus({ history, conditions, ...fields }: WrittenStatus): object {
  const revisions = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? toRevision(value) : value,
  ])
  return {
    ...Object.fromEntries(revisions),
    ...(history && { history: history.map(toEntry) }),
    ...(conditions && { conditions: conditions.map((each) => ({ ...condition(each.type, each.status), ...each })) }),
  }
}

type Row = readonly [string, wanted: string, status: WrittenStatus, type: string]

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
  const knownRevision = { wasDeployed, wasAttempted, wanted: [{ revision }] }
  const rule = addRevisionCheck(genericRule, { revisions: [{ revision }] }, () => true)
  return rule.arrival?.(object, { ...reader(), knownRevision }, before)
}

describe('a Kustomization with an expected revision', () => {
  it.each(rows<Row>(data, 'a Kustomization with an expected revision'))('%s', (_, wanted, status, type) => {
    expect(arrivalOf(kustomization(toStatus(status)), toRevision(wanted))?.type).toBe(type)
  })

  it('is superseded or rolled back by another revision, also without a history', () => {
    const before = kustomization({ lastAppliedRevision: old })
    expect(arrivalOf(kustomization({ lastAppliedRevision: next }), want, { wasDeployed: true, before })?.type).toBe(
      'superseded',
    )
    expect(arrivalOf(kustomization({ lastAppliedRevision: old }), want, { wasDeployed: true, before })?.type).toBe(
      'rolled-back',
    )
  })

  it('is superseded, not rolled back, by a commit that reverts the expected one', () => {
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

  it('reports the deployed revision, its time and why the expected one does not arrive', () => {
    const suspended = kustomization({ lastAppliedRevision: old, history: [entry(old, -60)] }, { suspend: true })
    expect(arrivalOf(suspended, want)).toMatchObject({
      problem: {
        detail: {
          operator: 'Flux',
          wanted: 'bbbbbbb (main)',
          current: 'aaaaaaa (main)',
          since: expect.stringMatching(/Z$/),
          complaint: 'it is suspended',
        },
      },
    })
  })
})

describe('a Kustomization of an OCI artifact', () => {
  it.each(rows<Row>(data, 'a Kustomization of an OCI artifact'))('%s', (_, wanted, written, type) => {
    const status = toStatus(written) as { lastAppliedRevision: string }
    const object = kustomization({ lastAttemptedRevision: status.lastAppliedRevision, ...status })
    expect(arrivalOf(object, toRevision(wanted))?.type).toBe(type)
  })

  it('is reported with the commit from which the artifact was made', () => {
    const object = kustomization(toStatus({ lastAppliedRevision: 'latest@a', lastAppliedOriginRevision: 'd' }))
    expect(arrivalOf(object, want)).toMatchObject({
      problem: { detail: { current: 'aaaaaaa (latest), made from ddddddd (main)' } },
    })
  })

  it('reports that the health checks of the previous revision delay Flux', () => {
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

describe('a HelmRelease with an expected revision', () => {
  it.each(rows<Row>(data, 'a HelmRelease with an expected revision'))('%s', (_, wanted, status, type) => {
    expect(arrivalOf(helmRelease(toStatus(status)), toRevision(wanted))?.type).toBe(type)
  })

  it.each([
    ['with', '+b deployed b', '+c deployed c'],
    ['without', ' deployed b', ' deployed c'],
  ])(
    'is superseded if the same chart version gets another digest, %s the digest in the version',
    (_, second, third) => {
      const [before, object] = [second, third].map((each) => helmRelease(toStatus({ history: [`3 1.4.2${each}`] })))
      const facts = { wasDeployed: true, ...(before && { before }) }
      expect(object && arrivalOf(object, digestOf('b'), facts)?.type).toBe('superseded')
    },
  )
})
