import { allSynced, at, createTarget, runUntil, synced } from '../kit/gate.ts'

const missing = 'does not exist yet'

test('a missing object is reported once its own kind is listed', () => {
  const { entries } = runUntil(5, [at(1, synced('Pod')), at(2, synced('Deployment'))])
  expect(entries.filter((entry) => entry.includes(missing))).toEqual([expect.stringMatching(/^2 /)])
})

test('a selector without a match is reported as soon as the first list of any kind is complete', () => {
  const targets = [createTarget({ name: '', selector: 'app=web' })]
  const { entries } = runUntil(5, [at(1, synced('Event')), at(2, allSynced)], { targets })
  expect(entries.filter((entry) => entry.includes(missing))).toEqual([expect.stringMatching(/^1 /)])
})
