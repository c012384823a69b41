import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')) as {
  packages: Record<string, { readonly integrity?: string; readonly resolved?: string; readonly link?: boolean }>
}
const installed = Object.entries(packages).filter(([path, { link }]) => path !== '' && link !== true)

test('each package of the lock file has an integrity hash on every platform', () => {
  expect(installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path)).toEqual([])
})

test('the lock file names no registry', () => {
  expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([])
})
