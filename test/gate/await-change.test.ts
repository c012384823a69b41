import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { createRedactor } from '../../src/cluster/redact.ts'
import { comparableManifest } from '../../src/plan/manifest-equality.ts'
import type { ManifestObject } from '../../src/plan/target.ts'
import { added, allSynced, at, createTarget, createWorkload, deleted, modified, run, runUntil } from '../kit/gate.ts'
import { complete, iso, make, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const settings = { awaitChangeMs: 120_000 }
const next = make.template({ containers: [make.container({ image: 'acme/web:v2' })] })
const applied = (metadata: object = {}, status = complete()) =>
  web.deployment(status, { metadata: { generation: 2, ...metadata }, spec: { template: next } })
const digest = (letter: string) => `sha256:${letter.repeat(64)}`
const scaledBy = (manager: string) =>
  web.deployment(complete(2, { observedGeneration: 2 }), {
    metadata: { generation: 2, managedFields: [{ manager, operation: 'Update', subresource: 'scale' }] },
    spec: { replicas: 2 },
  })
const rolledOut = (() => {
  const deployment = applied({}, complete(1, { observedGeneration: 2 }))
  const set = make.replicaSet({ metadata: { name: 'web-2', creationTimestamp: iso(50) } }, deployment)
  const pod = make.pod({ metadata: { name: 'web-2-a', creationTimestamp: iso(50) }, status: podIs.ready(51) }, set)
  return [...modified(deployment), ...added(set, pod)]
})()

describe('a gate that awaits a change', () => {
  it('is not ready by the state before the change, even if healthy', () => {
    expect(runUntil(100, [at(0, web.done, allSynced)], { settings }).outcome).toBeUndefined()
  })

  it('stalls when the change does not arrive in time', () => {
    expect(run([at(0, web.done, allSynced)], { settings })).toMatchObject({
      outcome: 'stalled',
      reason: 'change-not-seen',
      seconds: 120,
      message: 'deployment/web: its change did not arrive in 2 m',
    })
  })

  it('judges the new state once the generation moves, from then on', () => {
    const steps = [at(0, web.done, allSynced), at(50, modified(applied())), at(51, rolledOut)]
    const { outcome, reason, seconds, entries } = run(steps, { settings })
    expect({ outcome, reason, seconds }).toEqual({ outcome: 'ready', reason: '', seconds: 61 })
    expect(entries).toContain('50 note its change has arrived')
  })

  it('does not report as created what existed before its change', () => {
    const creationTimestamp = iso(-86_400)
    const steps = [
      at(0, added(web.deployment(complete(), { metadata: { creationTimestamp } })), web.done.slice(1), allSynced),
      at(50, modified(applied({ creationTimestamp }, complete(1, { observedGeneration: 1 })))),
    ]
    const { entries } = runUntil(55, steps, { settings })
    expect(entries.slice(1)).toEqual([
      '30 heartbeat still waiting for deployment/web (waiting for its change to arrive)',
      '50 note its change has arrived',
    ])
  })

  it('treats a change after the awaited one as another change', () => {
    const later = web.deployment(complete(), {
      metadata: { generation: 3 },
      spec: { template: make.template({ containers: [make.container({ image: 'acme/web:v3' })] }) },
    })
    expect(
      run([at(0, web.done, allSynced), at(50, modified(applied())), at(52, modified(later))], { settings }),
    ).toMatchObject({
      outcome: 'superseded',
      reason: 'superseded',
      seconds: 52,
    })
  })

  it('ignores the writes of controllers and autoscalers', () => {
    const writtenBy = (...subresources: string[]) =>
      web.deployment(complete(), {
        metadata: {
          resourceVersion: '77',
          managedFields: subresources.map((subresource) => ({ manager: 'm', subresource, time: iso(30) })),
        },
      })
    const steps = [at(0, web.done, allSynced), at(30, modified(writtenBy('status', 'scale')))]
    expect(run(steps, { settings })).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
  })

  // An autoscaler increases the generation, and the healthy state would be the one of before.
  it('is not ready when only an autoscaler has changed the number of replicas', () => {
    const scaled = scaledBy('kube-controller-manager')
    const pod = make.pod({ metadata: { name: 'web-1-b' }, status: podIs.ready(-60) }, web.replicaSet)
    const steps = [at(0, web.done, allSynced), at(30, modified(scaled), added(pod))]
    expect(run(steps, { settings })).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
    expect(run([...steps, at(50, modified(applied()))], { settings }).entries).toContain(
      '50 note its change has arrived',
    )
  })

  it('is not ready when an autoscaler has changed the number of replicas and changed it back', () => {
    const { generation } = web.deployment(complete()).metadata
    const returned = web.deployment(complete(), {
      metadata: {
        ...scaledBy('kube-controller-manager').metadata,
        generation: (generation ?? 1) + 2,
        resourceVersion: '99',
      },
    })
    const steps = [at(0, web.done, allSynced), at(30, modified(returned))]
    expect(run(steps, { settings })).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
  })

  it('takes a scale by kubectl for the change', () => {
    const steps = [at(0, web.done, allSynced), at(30, modified(scaledBy('kubectl')))]
    expect(run(steps, { settings }).entries).toContain('30 note its change has arrived')
  })

  it.each([
    ['the object is created', [at(0, allSynced), at(50, web.done)], 50],
    [
      'it comes back under its name',
      [
        at(0, web.done, allSynced),
        at(40, deleted(web.deployment())),
        at(50, added(web.deployment(complete(), { metadata: { uid: 'web-uid' } }))),
      ],
      50,
    ],
    [
      'somebody wrote it since the gate began, although nothing else differs',
      [
        at(0, web.done, allSynced),
        at(
          50,
          modified(
            web.deployment(complete(), { metadata: { managedFields: [{ manager: 'kubectl', time: iso(50) }] } }),
          ),
        ),
      ],
      50,
    ],
    [
      'it was written in the second in which the gate began',
      [
        at(
          0,
          added(web.deployment(complete(), { metadata: { managedFields: [{ manager: 'kubectl', time: iso(0) }] } })),
          web.done.slice(1),
          allSynced,
        ),
      ],
      0,
    ],
  ])('sees it arrive when %s', (_, steps, seconds) => {
    expect(run(steps, { settings })).toMatchObject({ outcome: 'ready', seconds })
  })

  it('does not report a missing object as misspelt while it awaits its change', () => {
    expect(run([at(0, allSynced)], { settings })).toMatchObject({
      outcome: 'stalled',
      reason: 'change-not-seen',
      seconds: 120,
    })
  })

  it('accepts at once an object that contains all fields of its manifest', () => {
    const manifest = (image: string): ManifestObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { template: { spec: { containers: [{ name: 'app', image }] } } },
    })
    const outcome = (image: string) =>
      run([at(0, web.done, allSynced)], { settings, targets: [createTarget({ manifest: manifest(image) })] }).outcome
    expect(outcome('acme/web:v1')).toBe('ready')
    expect(outcome('acme/web:v2')).toBe('stalled')
  })

  describe('with a manifest', () => {
    const image = (name: string) => make.template({ containers: [make.container({ image: name })] })
    const manifest = (spec: object): ManifestObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec,
    })
    const wanted = manifest({ replicas: 1, template: image('acme/web:v2') })
    const version = (generation: number, spec: object, metadata: object = {}): Observation[] =>
      modified(
        web.deployment(complete(1, { observedGeneration: generation }), {
          metadata: { generation, ...metadata },
          spec,
        }),
      )
    const writtenBy = (manager: string, subresource?: string) => ({
      managedFields: [{ manager, operation: 'Update', time: iso(30), ...(subresource && { subresource }) }],
    })
    const restarted = {
      ...make.template(),
      metadata: { labels: { app: 'web' }, annotations: { 'reloader.stakater.com/last-reloaded-from': 'x' } },
    }
    const begin = at(0, web.done, allSynced)
    const options = { settings, targets: [createTarget({ manifest: wanted })] }

    it.each<[string, Observation[]]>([
      ['a scale by kubectl', version(2, { replicas: 2 }, writtenBy('kubectl', 'scale'))],
      ['a patch of the number of replicas', version(2, { replicas: 2 }, writtenBy('kubectl-patch'))],
      ['a restart of the old version', version(2, { template: restarted }, writtenBy('Reloader'))],
      ['another image', version(2, { template: image('acme/web:v3') }, writtenBy('helm'))],
      ['a label', version(1, {}, { labels: { a: 'b' }, ...writtenBy('kubectl-label') })],
    ])('does not take %s for the change', (_, write) => {
      expect(run([begin, at(30, write)], options)).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
    })

    it('names the fields that still differ, with both values, three at most', () => {
      const { targets } = run([begin], options)
      expect(targets[0]?.message).toMatch(
        /did not arrive in 2 m: spec\.template\..*image is acme\/web:v1, not acme\/web:v2$/,
      )
      const many = manifest({ replicas: 3, paused: true, minReadySeconds: 9, template: image('acme/web:v2') })
      const [end] = run([begin], { settings, targets: [createTarget({ manifest: many })] }).targets
      expect(end?.message).toMatch(/: spec\.replicas is 1, not 3; spec\.paused .*; spec\.minReadySeconds .*; 1 more$/)
    })

    describe('whose applier recorded what it applied', () => {
      const redact = createRedactor()
      redact.keepRecordsOf([{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }])
      const env = (...names: string[]) => ({
        replicas: 1,
        template: make.template({
          containers: [make.container({ image: 'acme/web:v1', env: names.map((name) => ({ name, value: 'x' })) })],
        }),
      })
      const applied = (generation: number, last: object, live: object) => {
        const text = JSON.stringify(manifest(last))
        const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': text }
        const status = complete(1, { observedGeneration: generation })
        return redact(web.deployment(status, { metadata: { generation, annotations, namespace: 'shop' }, spec: live }))
      }
      const ends = (wanted: object, ...steps: Observation[][]) => {
        const target = createTarget({ manifest: comparableManifest(manifest(wanted), redact) })
        return run(
          steps.map((each, index) => at(index * 30, each)),
          { settings, targets: [target] },
        )
      }
      const listed = (object: KubeObject) => [...added(object), ...web.done.slice(1), ...allSynced]

      it('sees that a variable is still to be removed', () => {
        const old = env('A', 'B')
        const { reason, targets } = ends(env('A'), listed(applied(1, old, old)))
        expect(reason).toBe('change-not-seen')
        expect(targets[0]?.message).toMatch(/env\[B\] is set, and not in the file$/)
      })

      describe('as the owner of fields alone, as Helm 3', () => {
        const fieldsOf = (spec: object): object =>
          Object.fromEntries(
            Object.entries(spec).map(([name, value]) => [
              `f:${name}`,
              Array.isArray(value)
                ? Object.fromEntries(value.map((each) => [`k:{"name":"${each.name}"}`, fieldsOf(each)]))
                : typeof value === 'object'
                  ? fieldsOf(value)
                  : {},
            ]),
          )
        const written = (generation: number, live: object, seconds: number) => {
          const entry = {
            manager: 'helm',
            operation: 'Update' as const,
            time: iso(seconds),
            fieldsV1: fieldsOf({ spec: live }),
          }
          const metadata = { generation, namespace: 'shop', managedFields: [entry] }
          return redact(web.deployment(complete(1, { observedGeneration: generation }), { metadata, spec: live }))
        }

        it('sees that a variable is still to be removed', () => {
          const old = env('A', 'B')
          const { reason, targets } = ends(env('A'), listed(written(1, old, -60)))
          expect(reason).toBe('change-not-seen')
          expect(targets[0]?.message).toMatch(/env\[B\] is set, and not in the file$/)
          const steps = [listed(written(1, old, -60)), modified(written(2, env('A'), 30))]
          expect(ends(env('A'), ...steps).entries).toContain('30 note its change has arrived')
        })

        it('arrives with a later write, to which a webhook added a variable', () => {
          const steps = [listed(written(1, env('A', 'B'), -60)), modified(written(2, env('A', 'MESH'), 30))]
          expect(ends(env('A'), ...steps).entries).toContain('30 note its change has arrived')
        })
      })

      it('names a field once, also if the record has its old value too', () => {
        const old = { ...env('A'), minReadySeconds: 3 }
        const { targets } = ends({ ...env('A'), minReadySeconds: 5 }, listed(applied(1, old, old)))
        expect(targets[0]?.message).toMatch(/in 2 m: spec\.minReadySeconds is 3, not 5$/)
      })

      it('arrives by the record, whatever a webhook writes with each apply', () => {
        const mutated = { ...env('A'), minReadySeconds: 7 }
        const steps = [listed(applied(1, env('A', 'B'), env('A', 'B'))), modified(applied(2, env('A'), mutated))]
        expect(ends({ ...env('A') }, ...steps).entries).toContain('30 note its change has arrived')
      })
    })

    it('does not take an old version for the change that is deleted and created again', () => {
      const again = web.deployment(complete(), { metadata: { uid: 'new-uid' } })
      const steps = [begin, at(30, deleted(web.deployment())), at(31, added(again))]
      expect(run(steps, options)).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
    })

    it('gates the change also if another write was first', () => {
      const scale = at(30, version(2, { replicas: 2 }, writtenBy('kubectl', 'scale')))
      const restart = at(31, version(3, { replicas: 2, template: restarted }, writtenBy('Reloader')))
      const change = at(50, version(4, { template: image('acme/web:v2') }, writtenBy('kubectl-client-side-apply')))
      const { outcome, entries } = runUntil(60, [begin, scale, restart, change], options)
      expect(outcome).toBeUndefined()
      expect(entries).toContain('50 note its change has arrived')
    })

    it.each<[string, string, Observation[]]>([
      ['its tag is pinned to a digest', 'acme/web:v1', version(2, { template: image(`acme/web:v2@${digest('b')}`) })],
      [
        'its image is moved to a mirror',
        'acme/web:v1',
        version(2, { template: image('mirror.example:5000/acme/web:v2') }),
      ],
      [
        'its tag is replaced by a digest',
        `acme/web@${digest('a')}`,
        version(2, { template: image(`acme/web@${digest('b')}`) }),
      ],
      [
        'an autoscaler holds its replicas',
        'acme/web:v1',
        version(2, { replicas: 5, template: image('acme/web:v2') }, writtenBy('kube-controller-manager', 'scale')),
      ],
      [
        'somebody changes what did not differ before',
        'acme/web:v1',
        version(2, {
          minReadySeconds: 5,
          template: { ...image('acme/web:v2'), metadata: { labels: { app: 'other' } } },
        }),
      ],
    ])('sees the change arrive although %s', (_, before, change) => {
      const steps = [
        at(
          0,
          added(web.deployment(complete(), { spec: { replicas: 2, template: image(before) } })),
          web.done.slice(1),
          allSynced,
        ),
        at(50, change),
      ]
      expect(runUntil(60, steps, options).entries).toContain('50 note its change has arrived')
    })

    it('does not take the previous digest for the change', () => {
      const pinned = (generation: number, metadata: object = {}) =>
        web.deployment(complete(), {
          metadata: { generation, ...metadata },
          spec: { template: image(`acme/web@${digest('a')}`) },
        })
      const steps = [
        at(0, added(pinned(1)), web.done.slice(1), allSynced),
        at(30, modified(pinned(2, writtenBy('helm')))),
      ]
      expect(run(steps, options)).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
    })
  })

  // The controller of such a kind writes its status with the object, which increases the generation.
  it('takes only a new spec for the change of an object whose kind has no status subresource', () => {
    const application = (generation: number, revision: string, rest: object = {}): KubeObject => ({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: {
        name: 'web',
        namespace: 'shop',
        uid: 'u',
        generation,
        managedFields: [{ manager: 'argocd-application-controller', operation: 'Update', time: iso(generation) }],
      },
      spec: { source: { targetRevision: revision } },
      ...rest,
    })
    const target = createTarget({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' })
    const kind = { group: 'argoproj.io', version: 'v1alpha1', kind: 'Application', plural: 'applications' }
    const discovery = { type: 'DISCOVERY', resources: [{ ...kind, namespaced: true, status: false }] } as const
    const synced = {
      type: 'SYNCED',
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      namespace: 'shop',
    } as const
    const steps = [
      at(0, discovery, added(application(1, 'v1')), synced),
      at(20, modified(application(2, 'v1', { status: { reconciledAt: iso(20) } }))),
      at(30, modified(application(3, 'v1', { operation: { sync: {} } }))),
    ]
    const options = { settings, targets: [target] }
    expect(run(steps, options)).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
    const changed = at(40, modified(application(4, 'v2')))
    expect(runUntil(50, [...steps, changed], options).entries).toContain('40 note its change has arrived')
  })

  it('compares the resourceVersion of an object without a generation', () => {
    const settingsMap = (resourceVersion: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion },
    })
    const target = createTarget({ apiVersion: 'v1', kind: 'ConfigMap' })
    const synced = { type: 'SYNCED', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' } as const
    const steps = [at(0, added(settingsMap('1')), synced), at(20, modified(settingsMap('2')))]
    expect(run(steps, { settings, targets: [target] })).toMatchObject({ outcome: 'ready', seconds: 20 })
  })

  it('ignores a new status of an object without a generation', () => {
    const service = (resourceVersion: string, ingress: object[], type = 'LoadBalancer'): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion },
      spec: { type, clusterIP: 'None' },
      status: { loadBalancer: { ingress } },
    })
    const target = createTarget({ apiVersion: 'v1', kind: 'Service' })
    const synced = { type: 'SYNCED', apiVersion: 'v1', kind: 'Service', namespace: 'shop' } as const
    const steps = [at(0, added(service('1', [])), synced), at(20, modified(service('2', [{ ip: '192.0.2.1' }])))]
    expect(run(steps, { settings, targets: [target] })).toMatchObject({ reason: 'change-not-seen', seconds: 120 })
    const changed = at(30, modified(service('3', [{ ip: '192.0.2.1' }], 'ClusterIP')))
    expect(run([...steps, changed], { settings, targets: [target] })).toMatchObject({ outcome: 'ready', seconds: 30 })
  })
})
