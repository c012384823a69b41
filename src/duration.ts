import { type AddMistake, quote } from './errors.ts'
import { maxDurationMs } from './thresholds.ts'

/* Durations as text: parses and formats them. */

const millisecondsOf: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ns: 1e-6,
}

/**
 * Parses a duration as Kubernetes does (Go's `time.ParseDuration`): `90s`, `1h30m`, `1.5h`, `300ms`, `0`. The maximum
 * is `maxDurationMs`.
 * @returns whole milliseconds, at least 1 unless the duration is zero; undefined after a mistake
 */
export function parseDuration(text: string, addMistake: AddMistake): number | undefined {
  const written = text.trim()
  if (written === '0') return 0
  const reject = (why: string): undefined => {
    addMistake(`${quote(written)} ${why}`)
  }

  if (/^\d+(\.\d+)?$/.test(written))
    return reject(`has no unit. Write ${written}s for seconds or ${written}m for minutes.`)

  const milliseconds = durationToMs(written)
  if (milliseconds === undefined || written.startsWith('-'))
    return reject('is not a duration. Use the units h, m, s and ms in lower case, without spaces: 90s, 5m or 1h30m.')
  if (milliseconds > maxDurationMs)
    return reject(`is too long. Write at most ${formatDuration(maxDurationMs)}, or 0 to turn the clock off.`)
  return milliseconds === 0 ? 0 : Math.max(1, Math.round(milliseconds))
}

/** The milliseconds of a duration of any length and sign, perhaps with a fraction. Undefined for any other text. */
export function durationToMs(text: string): number | undefined {
  if (!/^-?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[nuµμm]?s|m|h))+$/.test(text)) return undefined
  const parts = [...text.matchAll(/([\d.]+)(\D+)/g)]
  const sum = parts.reduce((total, [, count, unit = '']) => total + Number(count) * (millisecondsOf[unit] ?? NaN), 0)
  return text.startsWith('-') ? -sum : sum
}

/** A duration for people, rounded down to at most two units: `0.2 s`, `31 s`, `5 m 10 s`, `1 h 2 m`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const tenths = Math.floor(Math.max(0, milliseconds) / 100)
  if (tenths < 100) return `${tenths / 10} s`
  const seconds = Math.floor(milliseconds / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return formatUnits(minutes, 'm', seconds % 60, 's')
  const hours = Math.floor(minutes / 60)
  return hours < 24
    ? formatUnits(hours, 'h', minutes % 60, 'm')
    : formatUnits(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function formatUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** A duration as `parseDuration` reads it: `1h30m`, `1m30s`, `1.5s`, `300ms`, `0`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds <= 0) return '0'
  if (milliseconds < 1_000) return `${milliseconds}ms`
  const hours = Math.floor(milliseconds / 3_600_000)
  const minutes = Math.floor((milliseconds % 3_600_000) / 60_000)
  const seconds = (milliseconds % 60_000) / 1_000
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${seconds > 0 ? `${seconds}s` : ''}`
}

/** The time of day of an ISO time: ` since 12:03 UTC`. Empty if the time is unknown. */
export function clockText(since: string | undefined): string {
  const at = Date.parse(since ?? '')
  return Number.isNaN(at) ? '' : ` since ${new Date(at).toISOString().slice(11, 16)} UTC`
}
