import type { Clock } from '../cluster/clock.ts'
import { KeyLines } from '../cluster/secret-values.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { TextQueue } from '../cluster/text-queue.ts'
import { redactRecord } from '../gate/redact-record.ts'
import type { Entry, RunRecord } from '../gate/run-record.ts'
import type { Source } from '../plan/target.ts'
import type { LogOutput } from '../report/log.ts'

/** Prints a rollout while it runs. Texts are raw: renderers escape them. */
export interface Reporter {
  /** Called when the gate starts; `present` returns its present state. `notices`: messages about the inputs. */
  readonly onStart: (present: () => RunRecord, notices: readonly string[]) => void
  readonly onEntry: (entry: Entry) => void
  /** Called with a log line of a container, for `stream-logs`. */
  readonly onLog: (output: LogOutput) => void
  /** Called with a warning, which never affects the verdict. `source`: the line of the manifest. */
  readonly onWarning: (text: string, source?: Source) => void
}

/**
 * The way out of a live gate: whatever it prints, records or publishes passes here, and is redacted with all secrets that
 * are known by then. Texts wait until the first lists of all watches have arrived or failed, since one of them may contain
 * the Secret or the pod template whose value a text quotes. The order of the texts stays.
 */
export class Exit implements Reporter {
  readonly #reporter: Reporter
  readonly #secrets: Secrets
  /** The texts that wait until the secrets in them are known. */
  readonly texts: TextQueue
  readonly #keyLines = new Map<string, KeyLines>()

  constructor(reporter: Reporter, secrets: Secrets, clock: Clock) {
    this.#reporter = reporter
    this.#secrets = secrets
    this.texts = new TextQueue(clock)
  }

  /** While texts wait for lists, the previous state is shown; at the start, a state without texts. */
  readonly onStart = (present: () => RunRecord, notices: readonly string[]): void => {
    let shown: RunRecord | undefined
    const presentShown = () => {
      const state = present()
      const { isWaiting } = this.texts
      if (shown === undefined || !isWaiting) shown = redactRecord(state, isWaiting ? () => '' : this.#secrets.redact)
      return { ...shown, finishedAt: state.finishedAt }
    }
    this.#reporter.onStart(presentShown, notices.map(this.#secrets.redact))
  }

  readonly onEntry = (entry: Entry): void =>
    this.texts.push(() => this.#reporter.onEntry(redactRecord(entry, this.#secrets.redact)))

  readonly onLog = (output: LogOutput): void =>
    this.texts.push(() => this.#reporter.onLog({ ...output, text: this.#redactLine(output) }))

  readonly onWarning = (text: string, source?: Source): void =>
    this.texts.push(() => this.#reporter.onWarning(this.#secrets.redact(text), source))

  /** A record as it may leave the process. */
  redact<T extends RunRecord>(record: T): T {
    return redactRecord(record, this.#secrets.redact)
  }

  /** A private key in a log has many lines. */
  #redactLine({ target, pod, container, text }: LogOutput): string {
    const key = JSON.stringify([target, pod, container])
    const lines = this.#keyLines.get(key) ?? new KeyLines()
    this.#keyLines.set(key, lines)
    return this.#secrets.redact(lines.redact(text))
  }
}
