import { Secrets } from '../src/secrets.ts'

test('every secret becomes stars, however often it stands there', () => {
  const secrets = new Secrets()
  for (const secret of ['open', 'a.b', '']) secrets.add(secret)
  expect(secrets.hide('open a.b axb open')).toBe('*** *** axb ***')
})

test('of a secret that holds another one nothing is left over', () => {
  const secrets = new Secrets()
  secrets.add('sesame')
  expect(secrets.hide('sesame')).toBe('***')
  secrets.add('open-sesame-now')
  expect(secrets.hide('open-sesame-now sesame')).toBe('*** ***')
})

test('short ones are passed over where that is wished', () => {
  const secrets = new Secrets(8)
  for (const secret of ['admin', 'administrator']) secrets.add(secret)
  expect(secrets.hide('admin administrator')).toBe('admin ***')
  expect([secrets.has('admin'), secrets.has('administrator')]).toEqual([false, true])
})
