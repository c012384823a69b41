import type { KubeObject } from '../../cluster/objects.ts'
import { type Complain, type Finding, quote, throwAll } from '../../errors.ts'
import { parseDuration } from '../duration.ts'
import { nearest } from '../names.ts'
import type { Target, TargetClocks, WaitFor } from '../target.ts'
import type { ResolvedPlan } from '../targets.ts'
import { explainLongTimeout } from '../timeouts.ts'
import { parseWaitFor } from '../wait-for.ts'
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
 * @param complain of an annotation, named by its key
 */
export function readGateAnnotations(
  annotations: unknown,
  complain: (key: string, message: string) => void,
): GateAnnotations {
  if (typeof annotations !== 'object' || annotations === null) return { clocks: {} }
  const written = new Map<string, string>()
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(prefix)) continue
    if (!known.includes(key)) {
      const [near] = nearest(key.slice(prefix.length), names, 1)
      const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${prefix}${near}?`
      complain(key, `There is no annotation ${quote(key)}. ${hint}`)
    } else if (typeof value !== 'string') {
      complain(key, `${key} is no string. Write its value in quotes: "${value}".`)
    } else {
      written.set(key, value)
    }
  }

  const read = <T>(name: string, parse: (text: string, complain: Complain) => T | undefined): T | undefined => {
    const key = `${prefix}${name}`
    const text = written.get(key)
    return text === undefined ? undefined : parse(text, (message) => complain(key, `${key}: ${message}`))
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

function parseSkip(text: string, complain: Complain): boolean | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  complain(`${quote(text)} is neither "true" nor "false". Write one of them.`)
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
  { targets, told, manifests }: ResolvedPlan,
  liveOf: (target: Target) => KubeObject | undefined,
  gateMs?: number,
): ResolvedPlan {
  const found: Finding[] = []
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
    const complain = (message: string) =>
      found.push({ input: file, line, message: `Of the live ${nameOf(manifest)}: ${message}`, reason: 'input-invalid' })
    const said = readGateAnnotations(unwritten(live, manifest), (_, message) => complain(message))
    const tooLong =
      target.clocks.timeoutMs === undefined ? explainLongTimeout(said.clocks.timeoutMs, gateMs) : undefined
    if (tooLong !== undefined) complain(`rollout-gate/timeout: ${tooLong}`)
    if (said.skip) {
      skipped.push(`${file}, line ${line} is skipped (rollout-gate/skip of the live object): ${nameOf(manifest)}`)
      continue
    }
    const waitFor = target.waitFor ?? said.waitFor
    const clocks = { ...said.clocks, ...target.clocks }
    kept.push({ target: { ...target, clocks, ...(waitFor === undefined ? {} : { waitFor }) }, manifest })
  }
  throwAll(found)
  return {
    targets: kept.map(({ target }) => target),
    told: [...told, ...skipped],
    manifests: new Map(kept.flatMap(({ target, manifest }) => (manifest === undefined ? [] : [[target, manifest]]))),
  }
}

/** The live annotations whose keys the manifest does not have. */
function unwritten({ metadata }: KubeObject, { object }: Manifest): Record<string, string> {
  const written = object.metadata['annotations']
  const isWritten = (key: string) => typeof written === 'object' && written !== null && Object.hasOwn(written, key)
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => !isWritten(key)))
}
