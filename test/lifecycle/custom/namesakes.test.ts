import type { KubeObject } from '../../../src/cluster/objects.ts'
import { loadCatalogue } from '../../../src/lifecycle/custom/catalogue.ts'
import { targetRule } from '../../../src/lifecycle/rules.ts'
import { createTarget } from '../../kit/gate.ts'
import { condition } from '../../kit/objects.ts'
import { hint } from '../../kit/problems.ts'
import { read } from '../../kit/rule.ts'

const kustomization = { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization' }
const release = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' }

function source(kind: string, name: string, namespace = 'shop'): KubeObject {
  const apiVersion = 'source.toolkit.fluxcd.io/v1'
  return { apiVersion, kind, metadata: { name, namespace, uid: `${kind}-${namespace}-${name}` }, spec: {} }
}

describe('a source that a resource of Flux names and that does not exist', () => {
  const git = (name: string, namespace?: string) => ({ sourceRef: { kind: 'GitRepository', name, namespace } })
  const chart = (name: string) => ({ chart: { spec: { sourceRef: { kind: 'HelmRepository', name } } } })

  it.each<[string, typeof release, object, readonly KubeObject[], string]>([
    [
      'a similar name',
      kustomization,
      git('podifno'),
      [source('GitRepository', 'podinfo')],
      '; gitrepository/podinfo exists',
    ],
    [
      'its name and another kind',
      kustomization,
      git('podinfo'),
      [source('OCIRepository', 'podinfo')],
      '; ocirepository/podinfo exists',
    ],
    [
      'a similar name, for a chart',
      release,
      chart('bitnmai'),
      [source('HelmRepository', 'bitnami')],
      '; helmrepository/bitnami exists',
    ],
    ['no similar name', kustomization, git('podinfo'), [source('GitRepository', 'redis')], ''],
    [
      'its name in the namespace of the reference',
      kustomization,
      git('web', 'flux'),
      [source('OCIRepository', 'web')],
      '',
    ],
    ['its own name', kustomization, git('podinfo'), [source('GitRepository', 'podinfo')], ''],
  ])('is reported beside the object with %s', async (_, kind, spec, sources, words) => {
    const catalogue = await loadCatalogue([kind])
    const message = 'the source is not found'
    const object = {
      ...kind,
      metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', generation: 1 },
      spec,
      status: {
        observedGeneration: 1,
        conditions: [condition('Ready', 'False', { reason: 'ArtifactFailed', message })],
      },
    }
    const rule = targetRule(createTarget({ ...kind, name: 'web' }), { catalogue })
    expect(read({ objects: [object, ...sources] }, rule, object).problems).toMatchObject([
      { reason: 'condition-false', message: message + words },
    ])
  })

  it('has a hint with the names that may be meant', () => {
    const namesakes = [{ group: 'source.toolkit.fluxcd.io', kind: 'GitRepository', namespace: 'shop', name: 'podinfo' }]
    expect(hint('condition-false', { signals: [], namesakes })).toBe(
      'Correct the reference in its spec: did you mean gitrepository/podinfo?',
    )
  })
})
