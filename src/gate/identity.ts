import type { KubeObject, PodTemplate } from '../cluster/objects.ts'
import { isFollowedChange, isSameTemplate } from '../lifecycle/template.ts'

/** What is being gated: this object, with this template. */
export interface Identity {
  readonly uid: string | undefined
  readonly template: PodTemplate | undefined
  /** The revisions that existed when it was first seen: a template that one of them carries is a rollback. */
  readonly since: number
}

export type IdentityChange = 'same' | 'replaced' | 'followed' | 'superseded' | 'rolled-back'

/** The identity of an object at first sight; kinds without a template are their uid alone. */
export function identify(object: KubeObject, now: number): Identity {
  return { uid: object.metadata.uid, template: templateOf(object), since: now }
}

/**
 * What a later version of the object means for the one that is gated. `older` are the revisions (ReplicaSets) that
 * existed before the gated one was first seen.
 */
export function compareIdentity(identity: Identity, object: KubeObject, older: readonly KubeObject[]): IdentityChange {
  if (object.metadata.uid !== identity.uid) return 'replaced'
  const template = templateOf(object)
  if (template === identity.template || isSameTemplate(template, identity.template)) return 'same'
  if (isFollowedChange(identity.template, template)) return 'followed'
  return older.some((revision) => isSameTemplate(templateOf(revision), template)) ? 'rolled-back' : 'superseded'
}

/** A ControllerRevision keeps the template as the patch that brings it back (pkg/controller/history). */
function templateOf(object: KubeObject): PodTemplate | undefined {
  if (object.kind !== 'ControllerRevision') return (object.spec as { template?: PodTemplate } | undefined)?.template
  const { data } = object as { data?: { spec?: { template?: PodTemplate & { $patch?: string } } } }
  if (data?.spec?.template === undefined) return undefined
  const { $patch: _directive, ...template } = data.spec.template
  return template
}
