import type { FeedEvent } from '../cluster/feed.ts'
import { nameOf } from '../cluster/objects.ts'
import type { Redactor } from '../cluster/redact.ts'
import type { JudgedRunRecord } from '../gate/run-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import {
  comparableManifest,
  type Difference,
  describeDifference,
  findDriftedFields,
  isScaledToZero,
} from '../plan/manifest-equality.ts'
import type { Plan } from '../plan/resolve.ts'
import { displayName, type Manifest, nameKey, type Source, type Target } from '../plan/target.ts'
import { maxDifferences } from '../thresholds.ts'

/* Reports where live objects differ from their manifests. */

/** A note on a live object that differs from its manifest. The texts are raw: renderers escape them. */
interface ManifestDriftNote {
  readonly entry: Entry & { readonly target: number }
  /** The warning for this line of the manifest. Absent if the scaling of the object explains the difference. */
  readonly warning?: { readonly text: string; readonly source: Source }
}

/**
 * Compares each live object with its manifest when the gate first sees the object, and reports the differences once.
 * Differences do not affect the outcome, because webhooks and controllers change objects. Different `replicas` are no
 * warning if something scales the object.
 */
export class ManifestDrift {
  readonly #awaited: Map<string, { readonly index: number; readonly target: Target; readonly manifest: Manifest }>
  readonly #redactor: Redactor
  readonly #notes: ManifestDriftNote[] = []

  /** @param redactor redacts the manifests in the same way as live objects, so that hashed values can be compared */
  constructor({ targets, manifests }: Plan, redactor: Redactor) {
    const awaited = targets.flatMap((target, index) => {
      const manifest = manifests.get(nameKey(target))
      return manifest === undefined ? [] : [{ index, target, manifest }]
    })
    this.#awaited = new Map(awaited.map((each) => [nameKey(each.target), each]))
    this.#redactor = redactor
  }

  /** Returns the notes on an object if this event is the first about the object. */
  observe(event: FeedEvent): readonly ManifestDriftNote[] {
    if (event.type !== 'ADDED' && event.type !== 'MODIFIED') return []
    const { object } = event
    const key = nameKey(nameOf(object))
    const awaited = this.#awaited.get(key)
    if (awaited === undefined) return []
    this.#awaited.delete(key)
    const { index, target, manifest } = awaited
    const all = findDriftedFields(comparableManifest(manifest.object, this.#redactor), object)
    // An autoscaler and `kubectl scale` write the subresource `scale`.
    const isScaled =
      isScaledToZero(object) ||
      object.metadata.managedFields?.some(({ subresource }) => subresource === 'scale') === true
    const isScaledReplicas = ({ path }: Difference) => isScaled && path.join('.') === 'spec.replicas'
    const scaled = all.filter(isScaledReplicas)
    const notes = scaled.map((difference): ManifestDriftNote => {
      const text = `${describeDifference(difference)} as in ${manifest.file}:${manifest.lineOf(difference.path)}: something scales it`
      return { entry: { at: event.at, target: index, kind: 'note', text } }
    })
    const [first, ...others] = all.filter((difference) => !isScaledReplicas(difference))
    if (first !== undefined) {
      const text = differenceText([first, ...others], manifest)
      const source = { file: manifest.file, line: manifest.lineOf(first.path) }
      const warning = { text: `${displayName(target)}: ${text}`, source }
      notes.push({ entry: { at: event.at, target: index, kind: 'note', text }, warning })
    }
    this.#notes.push(...notes)
    return notes
  }

  addNotesTo(record: JudgedRunRecord): JudgedRunRecord {
    if (this.#notes.length === 0) return record
    const entries = this.#notes.map(({ entry }) => entry)
    const notes = Map.groupBy(entries, ({ target }) => target)
    return {
      ...record,
      entries: [...entries, ...record.entries].toSorted((a, b) => a.at - b.at),
      targets: record.targets.map((judged, index) => {
        const own = notes.get(index)?.map(({ text }) => text) ?? []
        return own.length === 0 ? judged : { ...judged, notes: [...(judged.notes ?? []), ...own] }
      }),
    }
  }
}

function differenceText(found: readonly Difference[], { file, line, lineOf }: Manifest): string {
  const shown = found.slice(0, maxDifferences).map((difference) => {
    const at = lineOf(difference.path)
    return `${describeDifference(difference)}${at === line ? '' : ` (line ${at})`}`
  })
  const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : ''
  return `the live object differs from ${file}:${line}: ${shown.join('; ')}${more}`
}
