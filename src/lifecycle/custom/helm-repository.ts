import type { KubeObject } from '../../cluster/objects.ts'
import { seenRule } from '../platform/exists-rule.ts'
import type { Rule } from '../rule.ts'
import { genericRule } from './generic.ts'

/**
 * Flux's HelmRepository: of type `oci` it is a static object that its controller never writes a status to
 * (https://fluxcd.io/flux/components/source/helmrepositories/#helm-oci-repository); any other says how it is.
 */
export const helmRepositoryRule: Rule = {
  ...genericRule,
  assess: (object, context) => (isStatic(object) ? seenRule : genericRule).assess(object, context),
}

function isStatic({ spec }: KubeObject): boolean {
  return (spec as { type?: string } | undefined)?.type === 'oci'
}
