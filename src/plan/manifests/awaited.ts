import type { KubeObject } from '../../cluster/objects.ts'
import type { Strip } from '../../cluster/strip.ts'
import type { ResolvedPlan } from '../targets.ts'
import { comparable } from './differences.ts'
import type { ManifestObject } from './manifest.ts'

/**
 * The plan with each target knowing what its manifest says, so that `await-change` sees when the object carries it, live
 * and in a replay. `strip`: the one that live objects go through, so that hashed values can be compared.
 */
export function withAwaited<P extends ResolvedPlan>(plan: P, strip: Strip): P {
  const pairs = plan.targets.map((target) => {
    const manifest = plan.manifests.get(target)
    if (manifest === undefined) return [target, target] as const
    const object = strip(comparable(manifest.object) as unknown as KubeObject) as unknown as ManifestObject
    return [target, { ...target, manifest: object }] as const
  })
  const awaited = new Map(pairs)
  return {
    ...plan,
    targets: pairs.map(([, target]) => target),
    manifests: new Map([...plan.manifests].map(([target, manifest]) => [awaited.get(target) ?? target, manifest])),
  }
}
