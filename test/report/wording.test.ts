import { formatElapsed, setting } from '../../src/report/wording.ts'

it.each([
  [4_000, '0:04'],
  [751_999, '12:31'],
  [3_723_000, '1:02:03'],
  [36_000_000, '10:00:00'],
  [-5, '0:00'],
])('the clock shows %d ms as %s', (ms, text) => {
  expect(formatElapsed(ms)).toBe(text)
})

it.each([
  [0, 'off'],
  [90_000, '1m30s'],
  [600_000, '10m'],
  [5_400_000, '1h30m'],
  [1_500, '1.5s'],
])('a setting of %d ms reads %s', (ms, text) => {
  expect(setting(ms)).toBe(text)
})
