import type { Api } from './api.ts'
import { until } from './command.ts'

/** A GitOps operator that a test plays: the real ones run in `test/operators`. */
export interface PlayedOperator {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly hasStatus: boolean
  /** The object once it has deployed a revision with `deployment/web` in a namespace. */
  readonly at: (revision: string, namespace: string) => object
}

const now = () => new Date().toISOString()
const forms = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }

function fluxStatus(namespace: string): object {
  const ready = { type: 'Ready', status: 'True', reason: 'ReconciliationSucceeded', message: '' }
  return {
    observedGeneration: 1,
    conditions: [{ ...ready, lastTransitionTime: now(), observedGeneration: 1 }],
    inventory: { entries: [{ id: `${namespace}_web_apps_Deployment`, v: 'v1' }] },
  }
}

export const applications: PlayedOperator = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  plural: 'applications',
  hasStatus: false,
  at: (revision, namespace) => {
    const source = { repoURL: 'https://github.com/acme/shop', path: 'k8s', targetRevision: 'main' }
    const destination = { server: 'https://kubernetes.default.svc', namespace }
    const operation = { phase: 'Succeeded', operation: { sync: { revision } }, syncResult: { revision, source } }
    const finishedAt = now()
    const web = { group: 'apps', version: 'v1', kind: 'Deployment', namespace, name: 'web', status: 'Synced' }
    return {
      spec: { project: 'default', source, destination },
      status: {
        sync: { status: 'Synced', revision, comparedTo: { source, destination } },
        health: { status: 'Healthy' },
        operationState: { ...operation, startedAt: finishedAt, finishedAt },
        history: [{ id: 1, revision, source, deployedAt: finishedAt }],
        resources: [{ ...web, health: { status: 'Healthy' } }],
      },
    }
  },
}

export const kustomizations: PlayedOperator = {
  apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
  kind: 'Kustomization',
  plural: 'kustomizations',
  hasStatus: true,
  at: (revision, namespace) => {
    const applied = `main@sha1:${revision}`
    return {
      spec: { interval: '1m', path: 'k8s', prune: true, sourceRef: { kind: 'GitRepository', name: 'shop' } },
      status: { ...fluxStatus(namespace), lastAppliedRevision: applied, lastAttemptedRevision: applied },
    }
  },
}

export const helmReleases: PlayedOperator = {
  apiVersion: 'helm.toolkit.fluxcd.io/v2',
  kind: 'HelmRelease',
  plural: 'helmreleases',
  hasStatus: true,
  at: (revision, namespace) => ({
    spec: { interval: '1m', chartRef: { kind: 'OCIRepository', name: 'web' } },
    status: {
      ...fluxStatus(namespace),
      lastAttemptedRevision: revision,
      history: [
        { name: 'web', namespace, version: 1, status: 'deployed', chartVersion: revision, lastDeployed: now() },
      ],
    },
  }),
}

/** The path of the definition of an operator's kind. */
export function definitionPath({ apiVersion, plural }: PlayedOperator): string {
  const [group] = apiVersion.split('/')
  return `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`
}

/** Writes the object of an operator that has deployed a revision. */
export async function writeDeployed(
  api: Api,
  operator: PlayedOperator,
  { namespace, name, labels = {} }: { namespace: string; name: string; labels?: Readonly<Record<string, string>> },
  revision: string,
): Promise<void> {
  const { apiVersion, kind, plural, hasStatus, at } = operator
  const path = `/apis/${apiVersion}/namespaces/${namespace}/${plural}/${name}`
  const object = { apiVersion, kind, metadata: { name, labels }, ...at(revision, namespace) }
  for (const part of hasStatus ? [path, `${path}/status`] : [path]) await api.apply(part, object)
}

/** Defines the kind of an operator. Resolves once the API server serves it in a namespace. */
export async function defineKind(api: Api, operator: PlayedOperator, namespace: string): Promise<void> {
  const { apiVersion, kind, plural, hasStatus } = operator
  const [group = '', version = ''] = apiVersion.split('/')
  await api.apply(definitionPath(operator), {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [
        { name: version, served: true, storage: true, schema: forms, subresources: hasStatus ? { status: {} } : {} },
      ],
    },
  })
  const isServed = () =>
    api.get(`/apis/${apiVersion}/namespaces/${namespace}/${plural}`).then(
      () => true,
      () => false,
    )
  await until(`${kind} is served`, 30, isServed)
}
