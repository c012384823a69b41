import { type KubeObject, shortName } from '../cluster/objects.ts'
import { parseDuration } from '../duration.ts'
import { type AddMistake, type MistakeWithReason, nearest, quote, throwMistakes } from '../errors.ts'
import { annotationPrefix, describeAnnotation, type Manifest } from './reference.ts'
import { explainLongTimeout, parseWaitFor } from './reference-flags.ts'
import type { ResolvedPlan } from './resolve-targets.ts'
import { definedClocks, type Target, type TargetClocks, type WaitFor } from './target.ts'

/** Settings from an object's annotations. */
interface GateAnnotations {
  readonly clocks: Pick<TargetClocks, 'timeoutMs' | 'stallTimeoutMs'>
  readonly waitFor?: WaitFor
  readonly skip?: boolean
}

const names = ['timeout', 'stall-timeout', 'for', 'skip']
const known = names.map((name) => `${annotationPrefix}${name}`)

/**
 * Reads the annotations whose keys have the gate's prefix.
 * @param annotations `metadata.annotations`, not yet validated
 * @param addMistake called with the key of the annotation
 */
export function readGateAnnotations(
  annotations: unknown,
  addMistake: (key: string, message: string) => void,
): GateAnnotations {
  if (typeof annotations !== 'object' || annotations === null) return { clocks: {} }
  const written = new Map<string, string>()
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(annotationPrefix)) continue
    if (!known.includes(key)) {
      const [near] = nearest(key.slice(annotationPrefix.length), names, 1)
      const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${annotationPrefix}${near}?`
      addMistake(key, `There is no annotation ${quote(key)}. ${hint}`)
    } else if (typeof value !== 'string') {
      addMistake(key, `${key} is not a string. Write its value in quotes: "${value}".`)
    } else {
      written.set(key, value)
    }
  }

  const read = <T>(name: string, parse: (text: string, addMistake: AddMistake) => T | undefined): T | undefined => {
    const key = `${annotationPrefix}${name}`
    const text = written.get(key)
    return text === undefined ? undefined : parse(text, (message) => addMistake(key, `${key}: ${message}`))
  }
  return {
    clocks: definedClocks({
      timeoutMs: read('timeout', parseDuration),
      stallTimeoutMs: read('stall-timeout', parseDuration),
    }),
    waitFor: read('for', parseWaitFor),
    skip: read('skip', parseSkip),
  }
}

function parseSkip(text: string, addMistake: AddMistake): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  addMistake(`${quote(text)} is neither "true" nor "false". Write one of them.`)
  return undefined
}

/**
 * Applies annotations that are only on the live objects, because a user or a webhook added them. Settings in the
 * manifest or in `resources` take precedence.
 * @param liveOf returns the live object of a target, if it exists
 * @param gateMs the gate's timeout, if the user set one
 * @throws UserError with every mistake in the annotations, each with the manifest's file and line
 */
export function applyLiveAnnotations(
  { targets, notices, annotations, manifests }: ResolvedPlan,
  liveOf: (target: Target) => KubeObject | undefined,
  gateMs?: number,
): ResolvedPlan {
  const mistakes: MistakeWithReason[] = []
  const kept: { readonly target: Target; readonly manifest: Manifest | undefined }[] = []
  const skipped: string[] = []
  const used: string[] = []

  for (const target of targets) {
    const manifest = manifests.get(target)
    const live = manifest === undefined ? undefined : liveOf(target)
    if (manifest === undefined || live === undefined) {
      kept.push({ target, manifest })
      continue
    }
    const { file, line } = manifest
    const name = shortName(manifest.object)
    const addMistake = (message: string) =>
      mistakes.push({ input: file, line, message: `Of the live ${name}: ${message}` })
    const settings = readGateAnnotations(liveOnlyAnnotations(live, manifest), (_, message) => addMistake(message))
    const { waitFor, skip, clocks } = settings
    const tooLong = target.clocks.timeoutMs === undefined ? explainLongTimeout(clocks.timeoutMs, gateMs) : undefined
    if (tooLong !== undefined) addMistake(`rollout-gate/timeout: ${tooLong}`)
    if (skip) used.push(describeAnnotation('skip', live))
    else if (waitFor !== undefined && target.waitFor === undefined) used.push(describeAnnotation('for', live))
    if (skip) skipped.push(`${file}, line ${line} is skipped (rollout-gate/skip of the live object): ${name}`)
    else {
      const merged = { ...target, clocks: { ...clocks, ...target.clocks }, waitFor: target.waitFor ?? waitFor }
      kept.push({ target: merged, manifest })
    }
  }
  throwMistakes(mistakes)
  return {
    targets: kept.map(({ target }) => target),
    notices: [...notices, ...skipped],
    annotations: [...annotations, ...used],
    manifests: new Map(kept.flatMap(({ target, manifest }) => (manifest === undefined ? [] : [[target, manifest]]))),
  }
}

function liveOnlyAnnotations({ metadata }: KubeObject, { object }: Manifest): Record<string, string> {
  const inManifest = object.metadata['annotations'] ?? {}
  return Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => !Object.hasOwn(inManifest, key)),
  )
}
