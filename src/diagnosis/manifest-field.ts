import type { Manifest, PathStep } from '../plan/manifests/manifest.ts'
import { type Problem, reasons } from '../reasons/reasons.ts'

/** The field of a manifest that a problem is about. */
interface Place {
  readonly path: readonly PathStep[]
  readonly line: number
}

/**
 * The field to change for a problem, and its line. If the manifest lacks the field, the line is that of the nearest
 * parent. Undefined for problems without a field.
 */
export function placeOf(problem: Problem, manifest: Manifest): Place | undefined {
  const path = pathOf(problem, manifest)
  return path === undefined ? undefined : { path, line: manifest.lineOf(path) }
}

function pathOf({ reason, container }: Problem, manifest: Manifest): readonly PathStep[] | undefined {
  const { field } = reasons[reason]
  const template: readonly PathStep[] = manifest.object.kind === 'Pod' ? [] : ['spec', 'template']
  if (container !== undefined && field?.container !== undefined) {
    const list = isInit(manifest, template, container) ? 'initContainers' : 'containers'
    return [...template, 'spec', list, { name: container }, ...field.container]
  }
  return field?.pod === undefined ? field?.object : [...template, ...field.pod]
}

function isInit(manifest: Manifest, template: readonly PathStep[], container: string): boolean {
  const root = manifest.object as { spec?: { template?: PodLike } & PodLike['spec'] }
  const pod: PodLike | undefined = template.length === 0 ? (root as PodLike) : root.spec?.template
  return pod?.spec?.initContainers?.some(({ name }) => name === container) ?? false
}

interface PodLike {
  readonly spec?: { readonly initContainers?: readonly { readonly name?: string }[] }
}
