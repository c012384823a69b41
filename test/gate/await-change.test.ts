import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Redactor } from '../../src/cluster/redact.ts'
import { comparableManifest } from '../../src/plan/manifest-equality.ts'
import type { ManifestObject } from '../../src/plan/target.ts'
import { added, allSynced, at, createTarget, createWorkload, modified, run } from '../kit/gate.ts'
import { complete, iso, make } from '../kit/objects.ts'

const web = createWorkload('web')
const settings = { awaitChangeMs: 120_000 }
const manifest = (spec: object): ManifestObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec,
})

describe('a gate that awaits a manifest', () => {
  const redactor = new Redactor()
  redactor.keepRecordsOf([{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }])
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
    return redactor.redact(
      web.deployment(status, { metadata: { generation, annotations, namespace: 'shop' }, spec: live }),
    )
  }
  const ends = (wanted: object, ...steps: Observation[][]) => {
    const target = createTarget({ manifest: comparableManifest(manifest(wanted), redactor) })
    return run(
      steps.map((each, index) => at(index * 30, each)),
      { settings, targets: [target] },
    )
  }
  const listed = (object: KubeObject) => [...added(object), ...web.done.slice(1), ...allSynced]

  it('waits until a variable that the manifest lacks is removed', () => {
    const old = env('A', 'B')
    const { reason, targets } = ends(env('A'), listed(applied(1, old, old)))
    expect(reason).toBe('change-not-seen')
    expect(targets[0]?.message).toMatch(/env\[B\] is set, and not in the file$/)
  })

  describe('a manifest that Helm 3 applied', () => {
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
      return redactor.redact(web.deployment(complete(1, { observedGeneration: generation }), { metadata, spec: live }))
    }

    it('waits until a variable that the manifest lacks is removed', () => {
      const old = env('A', 'B')
      const { reason, targets } = ends(env('A'), listed(written(1, old, -60)))
      expect(reason).toBe('change-not-seen')
      expect(targets[0]?.message).toMatch(/env\[B\] is set, and not in the file$/)
      const steps = [listed(written(1, old, -60)), modified(written(2, env('A'), 30))]
      expect(ends(env('A'), ...steps).entries).toContain('30 note its change has arrived')
    })

    it('is ready if only the number of replicas differs, because something scaled the workload to zero', () => {
      const { replicas: _, ...rest } = env('A')
      const scaled = written(1, rest, -60)
      const live = { ...scaled, spec: { ...scaled.spec, replicas: 0 } }
      expect(ends(env('A'), listed(live)).entries).toContain('0 note its change has arrived')
    })

    it('reports a removed field of a list element once', () => {
      const withItem = (item: object) => {
        const { replicas, template } = env('A')
        const volumes = [{ name: 'v', configMap: { items: [{ key: 'a', path: 'a', ...item }] } }]
        return { replicas, template: { ...template, spec: { ...template.spec, volumes } } }
      }
      const { targets } = ends(withItem({}), listed(written(1, withItem({ mode: 256 }), -60)))
      expect(targets[0]?.message).toMatch(/in 2 m: [^;]+\.items\[0\]\.mode is set, and not in the file$/)
    })

    it('is ready after a later write even if a webhook added a variable', () => {
      const steps = [listed(written(1, env('A', 'B'), -60)), modified(written(2, env('A', 'MESH'), 30))]
      expect(ends(env('A'), ...steps).entries).toContain('30 note its change has arrived')
    })
  })

  it('reports a field once even if the last-applied annotation has its old value too', () => {
    const old = { ...env('A'), minReadySeconds: 3 }
    const { targets } = ends({ ...env('A'), minReadySeconds: 5 }, listed(applied(1, old, old)))
    expect(targets[0]?.message).toMatch(/in 2 m: spec\.minReadySeconds is 3, not 5$/)
  })

  it('is ready by the last-applied annotation, whatever a webhook changes', () => {
    const mutated = { ...env('A'), minReadySeconds: 7 }
    const steps = [listed(applied(1, env('A', 'B'), env('A', 'B'))), modified(applied(2, env('A'), mutated))]
    expect(ends({ ...env('A') }, ...steps).entries).toContain('30 note its change has arrived')
  })
})
