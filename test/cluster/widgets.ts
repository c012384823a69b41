import { ApiError, type KubeObject } from './api.ts'
import { until } from './command.ts'
import type { Stage } from './stage.ts'

/** The API group of the stage's own kind: scenarios that play at the same time do not share it. */
export const widgetGroup = ({ namespace }: Stage) => `${namespace}.example.com`

/** A custom resource of the stage's own kind. */
export function widget(stage: Stage, name: string, version = 'v1'): KubeObject {
  return {
    apiVersion: `${widgetGroup(stage)}/${version}`,
    kind: 'Widget',
    metadata: { name },
    spec: { size: 'small' },
  }
}

/** The CustomResourceDefinition of the stage's own kind, which is stored as its first version and has no status. */
export function widgetDefinition(stage: Stage, versions: readonly string[] = ['v1']): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${widgetGroup(stage)}` },
    spec: {
      group: widgetGroup(stage),
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
      versions: versions.map((name, index) => ({ name, served: true, storage: index === 0, schema })),
    },
  }
}

/** Creates a custom resource once its kind is served. */
export async function applyWidget(stage: Stage, name: string, version = 'v1'): Promise<void> {
  const path = widgetsPath(stage, version)
  await until('the kind is served', 30, () => isServed(stage, path))
  await stage.api.apply(`${path}/${name}`, widget(stage, name, version))
}

export async function removeWidgetDefinition(stage: Stage): Promise<void> {
  await stage.remove('CustomResourceDefinition', `widgets.${widgetGroup(stage)}`)
}

function widgetsPath(stage: Stage, version: string): string {
  return `/apis/${widgetGroup(stage)}/${version}/namespaces/${stage.namespace}/widgets`
}

/** The API server answers 404, and then for a moment 429, before a new kind's storage is there. */
async function isServed(stage: Stage, path: string): Promise<boolean> {
  try {
    await stage.api.get(path)
    return true
  } catch (error) {
    if (error instanceof ApiError && [404, 429].includes(error.status)) return false
    throw error
  }
}
