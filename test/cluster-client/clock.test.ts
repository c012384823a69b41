import { jest } from '@jest/globals'
import { systemClock } from '../../src/cluster/clock.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

test("a correction of the machine's clock is no passing of time", () => {
  const before = systemClock.now()
  const hourLater = Date.now() + 3_600_000
  jest.spyOn(Date, 'now').mockReturnValue(hourLater)
  expect(systemClock.now() - before).toBeLessThan(60_000)
})

test('it begins with the time of the machine', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000)
})
