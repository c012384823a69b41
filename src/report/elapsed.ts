import { formatDuration } from '../plan/duration.ts'

const second = 1_000
const minute = 60 * second

/** Elapsed milliseconds as a clock shows them: `0:04`, `12:31`, `1:02:03`. Below zero counts as zero. */
export function clock(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / second)
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'))
  const hours = Math.floor(seconds / 3600)
  return hours > 0 ? `${hours}:${parts.join(':')}` : parts.join(':').replace(/^0/, '')
}

/** Milliseconds as people say them, as exact as it matters and cut as the clock cuts them: `0.2 s`, `31 s`, `5 m 10 s`, `1 h 2 m`. */
export function duration(ms: number): string {
  const tenths = Math.floor(Math.max(0, ms) / 100)
  if (tenths < 100) return `${tenths / 10} s`
  const seconds = Math.floor(ms / second)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return units(Math.floor(seconds / 60), 'm', seconds % 60, 's')
  const minutes = Math.floor(ms / minute)
  return units(Math.floor(minutes / 60), 'h', minutes % 60, 'm')
}

/** Milliseconds as the inputs write them: `90s` is `1m30s`, `10m`; a clock that is turned off is `off`. */
export function setting(ms: number): string {
  return ms === 0 ? 'off' : formatDuration(ms)
}

function units(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}
