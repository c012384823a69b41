import type { KubeObject, PodTemplate } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { numberOf, revisionsOf, templateOf } from '../lifecycle/workloads/revision.ts'
import { templateChanges } from '../lifecycle/workloads/template.ts'
import type { Target } from '../plan/target.ts'

/**
 * What the change that is being gated changed in the pod template, against the revision before it: one line a difference.
 * Empty for a first revision, for kinds without revisions, and where older ones may not be seen. Values of the environment
 * and of Secrets never: only that they changed.
 */
export function whatChanged(target: Target, facts: Pick<Store, 'get' | 'ownedBy'>): readonly string[] {
  const object = facts.get(target)
  const template = object && templateOf(object)
  if (object === undefined || template === undefined) return []
  const before = previousTemplate(object, template, facts)
  return before === undefined ? [] : templateChanges(before, template)
}

/** The template of the latest revision but the present one. */
function previousTemplate(
  { metadata: { uid } }: KubeObject,
  template: PodTemplate,
  facts: Pick<Store, 'ownedBy'>,
): PodTemplate | undefined {
  const order = (revision: KubeObject) => numberOf(revision) || 0
  return revisionsOf(uid, (owner, kind) => facts.ownedBy(owner, kind))
    .toSorted((a, b) => order(b) - order(a))
    .map(templateOf)
    .find((each) => each !== undefined && templateChanges(each, template).length > 0)
}
