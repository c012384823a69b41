import { type KubeObject, shortName } from '../../cluster/objects.ts'
/**
 * One step of a path: a field, the index of an element, or the fields that identify an element (`{ name: 'app' }`).
 */
export type PathStep = string | number | Readonly<Record<string, string>>

/** An object of a manifest; only these fields were validated. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** One object of a manifest file, with the lines of its fields. */
export interface Manifest {
  /** Relative to the workspace, with slashes; absolute outside the workspace; `stdin` for standard input. */
  readonly file: string
  /** First line of the object, counted from 1. */
  readonly line: number
  readonly object: ManifestObject
  /**
   * The line of a field: `['spec', 'template', 'spec', 'containers', { name: 'app' }, 'image']`. For a missing field, the
   * line of its nearest parent.
   */
  readonly lineOf: (path: readonly PathStep[]) => number
}

/** A path as text: `spec.template.spec.containers[app].image`. */
export function describePath(path: readonly PathStep[]): string {
  return path
    .map((step, index) => {
      if (typeof step === 'object') return `[${Object.values(step).join(' ')}]`
      if (typeof step === 'number') return `[${step}]`
      if (/[^\w-]/.test(step)) return `["${step}"]`
      return index === 0 ? step : `.${step}`
    })
    .join('')
}

/** The message for an object in two manifests. */
export function duplicateOf(manifest: Manifest, earlier: Manifest): string {
  const place = earlier.file === manifest.file ? `line ${earlier.line}` : `${earlier.file}, line ${earlier.line}`
  return `${shortName(manifest.object)} is in ${place} too. Keep one of them, or exclude a file with "!".`
}

/** The prefix of the gate's annotations. */
export const annotationPrefix = 'rollout-gate/'

/**
 * An annotation that changed what is gated: `rollout-gate/for=create of deployment/web`.
 * @param object the object that has it
 */
export function describeAnnotation(name: 'skip' | 'for', object: KubeObject | Manifest['object']): string {
  const key = `${annotationPrefix}${name}`
  const annotations = (object.metadata.annotations ?? {}) as Readonly<Record<string, unknown>>
  return `${key}${name === 'for' ? `=${annotations[key]}` : ''} of ${shortName(object)}`
}
