import { clock, duration, setting } from '../../src/report/elapsed.ts'

it.each([
  [4_000, '0:04'],
  [751_999, '12:31'],
  [3_723_000, '1:02:03'],
  [36_000_000, '10:00:00'],
  [-5, '0:00'],
])('the clock shows %d ms as %s', (ms, text) => {
  expect(clock(ms)).toBe(text)
})

it.each([
  [0, '0 s'],
  [180, '0.1 s'],
  [2_100, '2.1 s'],
  [7_250, '7.2 s'],
  [9_960, '9.9 s'],
  [31_000, '31 s'],
  [59_700, '59 s'],
  [310_000, '5 m 10 s'],
  [3_599_700, '59 m 59 s'],
  [3_720_000, '1 h 2 m'],
])('people read %d ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
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
