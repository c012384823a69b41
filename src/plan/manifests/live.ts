import type { KubeObject } from '../../cluster/objects.ts'
import { type Finding, throwAll } from '../findings.ts'
import type { Target } from '../target.ts'
import type { ResolvedPlan } from '../targets.ts'
import { explainLongTimeout } from '../timeouts.ts'
import { readGateAnnotations } from './annotations.ts'
import { type Manifest, nameOf } from './manifest.ts'

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
