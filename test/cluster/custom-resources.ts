import { ApiError, type KubeObject } from './api.ts'
import { until } from './command.ts'
import type { Fixture } from './fixture.ts'

/** The API group of the kind Widget: one per namespace, so parallel scenarios do not share the kind. */
export const widgetGroup = ({ namespace }: Fixture) => `${namespace}.example.com`

/** A custom resource of the kind Widget. */
export function createWidget(fixture: Fixture, name: string, version = 'v1'): KubeObject {
  return {
    apiVersion: `${widgetGroup(fixture)}/${version}`,
    kind: 'Widget',
    metadata: { name },
    spec: { size: 'small' },
  }
}

/** The CustomResourceDefinition of the kind Widget, stored as the first version, without a status subresource. */
export function widgetDefinition(fixture: Fixture, versions: readonly string[] = ['v1']): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${widgetGroup(fixture)}` },
    spec: {
      group: widgetGroup(fixture),
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
      versions: versions.map((name, index) => ({ name, served: true, storage: index === 0, schema })),
    },
  }
}

/** Creates a Widget once the kind is served. Returns it as it is stored. */
export async function applyWidget(fixture: Fixture, name: string, version = 'v1'): Promise<KubeObject> {
  const path = widgetsPath(fixture, version)
  await until('the kind is served', 30, () => isServed(fixture, path))
  return fixture.api.apply(`${path}/${name}`, createWidget(fixture, name, version))
}

export async function removeWidgetDefinition(fixture: Fixture): Promise<void> {
  await fixture.remove('CustomResourceDefinition', `widgets.${widgetGroup(fixture)}`)
}

function widgetsPath(fixture: Fixture, version: string): string {
  return `/apis/${widgetGroup(fixture)}/${version}/namespaces/${fixture.namespace}/widgets`
}

/** Before a new kind is served, the API server returns 404 and then briefly 429. */
async function isServed(fixture: Fixture, path: string): Promise<boolean> {
  try {
    await fixture.api.get(path)
    return true
  } catch (error) {
    if (error instanceof ApiError && [404, 429].includes(error.status)) return false
    throw error
  }
}
