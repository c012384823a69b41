import { formatDuration } from '../duration.ts'

const second = 1_000

/** Elapsed milliseconds as a clock shows them: `0:04`, `12:31`, `1:02:03`. Below zero counts as zero. */
export function clock(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / second)
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'))
  const hours = Math.floor(seconds / 3600)
  return hours > 0 ? `${hours}:${parts.join(':')}` : parts.join(':').replace(/^0/, '')
}

/** Milliseconds as the inputs write them: `90s` is `1m30s`, `10m`; a clock that is turned off is `off`. */
export function setting(ms: number): string {
  return ms === 0 ? 'off' : formatDuration(ms)
}
