/**
 * One step into an object: a field, an element by its index, or the element of a list whose fields say so, as
 * `{ name: 'app' }` finds a container.
 */
export type Step = string | number | Readonly<Record<string, string>>

/** An object as its manifest holds it: nothing is known of its fields but what reading has checked. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** One object of a manifest file, and where each of its fields stands. */
export interface Manifest {
  /** Relative to the workspace, with slashes; absolute where the file lies outside; `-` for standard input. */
  readonly file: string
  /** Where the object begins, counted from 1. */
  readonly line: number
  readonly object: ManifestObject
  /**
   * The line of a field: `['spec', 'template', 'spec', 'containers', { name: 'app' }, 'image']`. Of a field that is not
   * written, the line of the nearest one around it that is.
   */
  readonly lineOf: (path: readonly Step[]) => number
}

/** A path for people: `spec.template.spec.containers[app].image`. */
export function describePath(path: readonly Step[]): string {
  return path
    .map((step, index) => {
      if (typeof step === 'object') return `[${Object.values(step).join(' ')}]`
      if (typeof step === 'number') return `[${step}]`
      if (/[^\w-]/.test(step)) return `["${step}"]`
      return index === 0 ? step : `.${step}`
    })
    .join('')
}

/** `deployment/web` */
export function nameOf({ object: { kind, metadata } }: Manifest): string {
  return `${kind.toLowerCase()}/${metadata.name}`
}

/** Says of an object where it was met before. */
export function duplicateOf(manifest: Manifest, earlier: Manifest): string {
  const place = earlier.file === manifest.file ? `line ${earlier.line}` : `${earlier.file}, line ${earlier.line}`
  return `${nameOf(manifest)} is in ${place} too. Keep one of them, or exclude a file with "!".`
}
