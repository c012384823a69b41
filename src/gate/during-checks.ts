import type { Answer } from '../cluster/feed.ts'
import { type DuringCount, isRight } from '../lifecycle/answers.ts'
import type { AskedPod } from '../lifecycle/assessment.ts'
import type { RequestCheck } from '../plan/checks.ts'
import { duringIntervalMs } from '../thresholds.ts'
import type { Question } from './questions.ts'

/** The state of a request check with `--during`. */
interface During {
  readonly count: DuringCount
  /** When the next request is sent, and by pod name when the last answer of the pod came. */
  readonly dueAt: number
  readonly askedAt: ReadonlyMap<string, number>
  /** The pod that has to answer the present request. If the pod ends first, the lost request counts as an error. */
  readonly asked?: AskedPod | undefined
}

/**
 * Request checks with `--during`: each sends requests to its pods in turn, while the gate runs. All moments are milliseconds
 * since the epoch.
 */
export class DuringChecks {
  readonly #lines = new Map<number, During>()
  readonly #startedAt: number

  constructor(startedAt: number) {
    this.#startedAt = startedAt
  }

  count({ index }: RequestCheck): DuringCount {
    return this.#of(index).count
  }

  add(check: RequestCheck, event: Answer & { readonly at: number }): void {
    const { count, dueAt, askedAt } = this.#of(check.index)
    const isError = !isRight(check, event)
    this.#lines.set(check.index, {
      count: {
        asked: count.asked + 1,
        errors: count.errors + Number(isError),
        firstErrorAt: count.firstErrorAt ?? (isError ? event.at : undefined),
        lastError: isError ? event : count.lastError,
      },
      dueAt: Math.max(dueAt + duringIntervalMs, event.at),
      askedAt: new Map([...askedAt, [event.pod ?? '', event.at]]),
    })
  }

  /**
   * The next request: to the URL, or to the pod that has had no request for the longest time.
   * @param reached the ready pods that the check can reach
   */
  question({ index, reference }: RequestCheck, reached: () => readonly AskedPod[]): readonly Question[] {
    const line = this.#of(index)
    const { dueAt: at, askedAt } = line
    if (reference === undefined) return [{ check: index, at }]
    const lastAsked = ({ name }: AskedPod) => askedAt.get(name) ?? 0
    const asked = line.asked ?? reached().toSorted((one, other) => lastAsked(one) - lastAsked(other))[0]
    this.#lines.set(index, { ...line, asked })
    return asked === undefined ? [] : [{ check: index, pod: asked, at }]
  }

  #of(index: number): During {
    return this.#lines.get(index) ?? { count: { asked: 0, errors: 0 }, dueAt: this.#startedAt, askedAt: new Map() }
  }
}
