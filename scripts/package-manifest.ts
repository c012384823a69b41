import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * npm runs this before and after `npm pack` and `npm publish`. `dist/` contains all dependencies, so the published
 * package.json names none: an installation is this one package.
 *
 *     node scripts/package-manifest.ts prepack    replace package.json, and keep the original in build/
 *     node scripts/package-manifest.ts postpack   restore it
 */

const manifest = join(import.meta.dirname, '../package.json')
const original = join(dirname(manifest), 'build/package.json')

if (process.argv[2] === 'postpack') renameSync(original, manifest)
else {
  mkdirSync(dirname(original), { recursive: true })
  copyFileSync(manifest, original)
  const {
    scripts: _scripts,
    dependencies: _dependencies,
    devDependencies: _devDependencies,
    devEngines: _devEngines,
    overrides: _overrides,
    ...published
  } = JSON.parse(readFileSync(manifest, 'utf8'))
  writeFileSync(manifest, `${JSON.stringify(published, null, 2)}\n`)
}
