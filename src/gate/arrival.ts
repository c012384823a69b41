import type { KubeObject, PodSpec, PodTemplate } from '../cluster/objects.ts'
import type { GateTime } from '../lifecycle/gate-time.ts'
import { asksForImages } from '../lifecycle/workloads/running-images.ts'
import type { ExpectedImages } from '../plan/expected-images.ts'
import { differences } from '../plan/manifests/differences.ts'
import type { Target } from '../plan/target.ts'

/** The subresources through which controllers and autoscalers write: what they write is not the change. */
const notTheUser: ReadonlySet<string | undefined> = new Set(['status', 'scale'])

/**
 * Waits for the change of one target that the user applies, or has somebody apply, after the gate began (`await-change`).
 * Until it has arrived the object is the old one, which may be as healthy as can be: it is not judged.
 */
export class Arrival {
  readonly #target: Target
  readonly #expected: ExpectedImages
  /** The object as the first list had it. */
  #before: KubeObject | undefined

  constructor(target: Target, expected: ExpectedImages) {
    this.#target = target
    this.#expected = expected
  }

  /**
   * Whether this version of the object carries the change: it came after the first list, or under another uid; its
   * generation moved (where it has none, its resourceVersion); somebody wrote it since the gate began, by its managedFields;
   * or it carries all that its manifest says, or the images that are expected.
   */
  hasArrived(object: KubeObject, isInFirstList: boolean, gateTime: GateTime): boolean {
    this.#before ??= isInFirstList ? object : undefined
    return (
      this.#before === undefined ||
      isAnother(this.#before, object) ||
      wasWritten(object, gateTime) ||
      asksForImages(podSpecOf(object), this.#expected) ||
      (this.#target.manifest !== undefined && differences(this.#target.manifest, object).length === 0)
    )
  }

  /** It is gone: whatever comes under its name is the change. */
  lose(): void {
    this.#before = undefined
  }
}

function podSpecOf(object: KubeObject): PodSpec {
  const spec = object.spec as (PodSpec & { template?: PodTemplate }) | undefined
  return spec?.template?.spec ?? spec ?? {}
}

function isAnother({ metadata: before }: KubeObject, { metadata: now }: KubeObject): boolean {
  if (before.uid !== now.uid) return true
  return now.generation === undefined
    ? before.resourceVersion !== now.resourceVersion
    : before.generation !== now.generation
}

/** The API's timestamps are whole seconds, rounded down. */
function wasWritten({ metadata }: KubeObject, { time, startedAt }: GateTime): boolean {
  return (metadata.managedFields ?? []).some(
    (entry) => !notTheUser.has(entry.subresource) && (time(entry.time) ?? 0) > startedAt - 1_000,
  )
}
