import type { Mistake } from '../../errors.ts'
import type { ParsedReferences, Reference, SkippedLine } from '../references.ts'
import { nameKey } from '../target.ts'
import { readGateAnnotations } from './annotations.ts'
import { readManifestFiles } from './files.ts'
import { duplicateOf, type Manifest, nameOf } from './manifest.ts'
import { readObjects } from './objects.ts'

/** More than any apply names, and each is a watch. */
const mostObjects = 5_000

/**
 * Reads what the input `manifests` names: every object becomes a reference of its own, with its manifest.
 * Never throws: mistakes are collected with file and line.
 *
 * @param lines files, folders and globs, one a line, relative to the workspace
 * @param workspace absolute
 * @param input what messages about the lines themselves call them
 */
export function readManifests(lines: string, workspace: string, input = 'manifests'): ParsedReferences {
  const { files, idle, mistakes } = readManifestFiles(lines, workspace, input)
  const parsed = parseFiles(files)
  const skipped = idle.map(({ line, text }) => ({ line, text, why: 'it excludes nothing' }))
  return { ...parsed, input, skipped: [...skipped, ...parsed.skipped], mistakes: [...mistakes, ...parsed.mistakes] }
}

/**
 * Reads the text of a manifest that is no file of the workspace, as standard input.
 *
 * @param file what to call it in messages and as the targets' source; `-` for standard input
 */
export function parseManifests(text: string, file = '-'): ParsedReferences {
  return parseFiles([{ name: file, text }])
}

function parseFiles(files: readonly { readonly name: string; readonly text: string }[]): ParsedReferences {
  const references: Reference[] = []
  const skipped: SkippedLine[] = []
  const mistakes: Mistake[] = []
  const places = new Map<string, Manifest>()
  const input = files[0]?.name ?? ''

  for (const { name: file, text } of files) {
    const complain = (line: number, message: string) => mistakes.push({ input: file, line, message })
    const { manifests, unnamed } = readObjects(text, file, complain)
    const why = 'the server makes up its name: hand over what kubectl create printed'
    for (const { line, text } of unnamed) skipped.push({ file, line, text, why, isUnnamed: true })
    for (const manifest of manifests) {
      // As far as is known without the cluster: where a namespace is missing, another one may turn out to be meant.
      const key = nameKey({ ...manifest.object, ...manifest.object.metadata })
      const earlier = places.get(key)
      if (earlier !== undefined) {
        complain(manifest.line, duplicateOf(manifest, earlier))
        continue
      }
      places.set(key, manifest)
      const { skip, ...said } = readGateAnnotations(manifest.object.metadata['annotations'], (key, message) =>
        complain(manifest.lineOf(['metadata', 'annotations', key]), message),
      )
      if (skip) skipped.push({ file, line: manifest.line, text: nameOf(manifest), why: 'rollout-gate/skip' })
      else references.push(referenceTo(manifest, said))
    }
    if (references.length > mostObjects) {
      mistakes.push({ input: file, message: `More than ${mostObjects} objects are named. Use several gates.` })
      break
    }
  }
  if (files.length > 0 && references.length + skipped.length + mistakes.length === 0) {
    mistakes.push({ input, message: `There is no object in ${files.length === 1 ? 'the file' : 'the files'}.` })
  }
  return { input, references, skipped, mistakes }
}

function referenceTo(manifest: Manifest, said: Pick<Reference, 'clocks' | 'waitFor'>): Reference {
  const { kind, metadata } = manifest.object
  const { name, namespace } = metadata
  return {
    line: manifest.line,
    exclude: false,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...said,
    manifest,
  }
}
