import type { KubeObject, PodTemplate } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { numberOf, revisionsOf, templateOf } from '../lifecycle/workloads/revision.ts'
import { templateChanges } from '../lifecycle/workloads/template.ts'
import type { Target } from '../plan/target.ts'

/**
 * The differences between the previous revision's pod template and the gated one, one line each. Empty for a first
 * revision, for kinds without revisions, and if older revisions cannot be read. Values of environment variables and
 * Secrets are never shown.
 */
export function changesSincePreviousRevision(target: Target, facts: Pick<Store, 'get' | 'ownedBy'>): readonly string[] {
  const object = facts.get(target)
  const template = object && templateOf(object)
  if (object === undefined || template === undefined) return []
  const before = previousTemplate(object, template, facts)
  return before === undefined ? [] : templateChanges(before, template)
}

/** The template of the latest revision before the present one. */
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
