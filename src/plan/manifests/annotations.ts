import type { KubeObject } from '../../cluster/objects.ts'
import { parseDuration } from '../../duration.ts'
import { type AddMistake, type MistakeWithReason, nearest, quote, throwMistakes } from '../../errors.ts'
import { explainLongTimeout, parseWaitFor } from '../reference-flags.ts'
import type { ResolvedPlan } from '../resolve.ts'
import type { Target, TargetClocks, WaitFor } from '../target.ts'
import { type Manifest, nameOf } from './manifest.ts'

/** What an object's own annotations say of how it is to be gated (DESIGN §3). */
export interface GateAnnotations {
  readonly clocks: Pick<TargetClocks, 'timeoutMs' | 'stallTimeoutMs'>
  readonly waitFor?: WaitFor
  /** Absent when nothing is written. */
  readonly skip?: boolean
}

const prefix = 'rollout-gate/'
const names = ['timeout', 'stall-timeout', 'for', 'skip']
const known = names.map((name) => `${prefix}${name}`)

/**
 * Reads the annotations that speak to the gate; those of others are left alone.
 *
 * @param annotations `metadata.annotations`, of whatever type
 * @param addMistake takes the key of the annotation
 */
export function readGateAnnotations(
  annotations: unknown,
  addMistake: (key: string, message: string) => void,
): GateAnnotations {
  if (typeof annotations !== 'object' || annotations === null) return { clocks: {} }
  const written = new Map<string, string>()
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(prefix)) continue
    if (!known.includes(key)) {
      const [near] = nearest(key.slice(prefix.length), names, 1)
      const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${prefix}${near}?`
      addMistake(key, `There is no annotation ${quote(key)}. ${hint}`)
    } else if (typeof value !== 'string') {
      addMistake(key, `${key} is no string. Write its value in quotes: "${value}".`)
    } else {
      written.set(key, value)
    }
  }

  const read = <T>(name: string, parse: (text: string, addMistake: AddMistake) => T | undefined): T | undefined => {
    const key = `${prefix}${name}`
    const text = written.get(key)
    return text === undefined ? undefined : parse(text, (message) => addMistake(key, `${key}: ${message}`))
  }
  const timeoutMs = read('timeout', parseDuration)
  const stallTimeoutMs = read('stall-timeout', parseDuration)
  const waitFor = read('for', parseWaitFor)
  const skip = read('skip', parseSkip)
  return {
    clocks: {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(stallTimeoutMs === undefined ? {} : { stallTimeoutMs }),
    },
    ...(waitFor === undefined ? {} : { waitFor }),
    ...(skip === undefined ? {} : { skip }),
  }
}

function parseSkip(text: string, addMistake: AddMistake): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  addMistake(`${quote(text)} is neither "true" nor "false". Write one of them.`)
  return undefined
}

/**
 * Takes from the live objects the annotations for the gate that their manifests do not have: what was annotated by hand
 * or by a webhook. What the user wrote, in the manifest or in `resources`, goes before it.
 *
 * @param liveOf the live object of a target, as far as it exists
 * @param gateMs the gate's timeout, where the user wrote one
 * @throws UserError with every mistake in them, each with the manifest's file and line
 */
export function applyLiveAnnotations(
  { targets, notices, manifests }: ResolvedPlan,
  liveOf: (target: Target) => KubeObject | undefined,
  gateMs?: number,
): ResolvedPlan {
  const found: MistakeWithReason[] = []
  const kept: { readonly target: Target; readonly manifest: Manifest | undefined }[] = []
  const skipped: string[] = []

  for (const target of targets) {
    const manifest = manifests.get(target)
    const live = manifest === undefined ? undefined : liveOf(target)
    if (manifest === undefined || live === undefined) {
      kept.push({ target, manifest })
      continue
    }
    const { file, line } = manifest
    const addMistake = (message: string) =>
      found.push({ input: file, line, message: `Of the live ${nameOf(manifest)}: ${message}`, reason: 'input-invalid' })
    const said = readGateAnnotations(unwritten(live, manifest), (_, message) => addMistake(message))
    const tooLong =
      target.clocks.timeoutMs === undefined ? explainLongTimeout(said.clocks.timeoutMs, gateMs) : undefined
    if (tooLong !== undefined) addMistake(`rollout-gate/timeout: ${tooLong}`)
    if (said.skip) {
      skipped.push(`${file}, line ${line} is skipped (rollout-gate/skip of the live object): ${nameOf(manifest)}`)
      continue
    }
    const waitFor = target.waitFor ?? said.waitFor
    const clocks = { ...said.clocks, ...target.clocks }
    kept.push({ target: { ...target, clocks, ...(waitFor === undefined ? {} : { waitFor }) }, manifest })
  }
  throwMistakes(found)
  return {
    targets: kept.map(({ target }) => target),
    notices: [...notices, ...skipped],
    manifests: new Map(kept.flatMap(({ target, manifest }) => (manifest === undefined ? [] : [[target, manifest]]))),
  }
}

/** The live annotations whose keys the manifest does not have. */
function unwritten({ metadata }: KubeObject, { object }: Manifest): Record<string, string> {
  const written = object.metadata['annotations']
  const isWritten = (key: string) => typeof written === 'object' && written !== null && Object.hasOwn(written, key)
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => !isWritten(key)))
}
