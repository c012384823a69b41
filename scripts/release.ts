import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { stringify } from 'yaml'
import { version } from '../src/version.ts'
import { krewManifest, planRelease } from './release-plan.ts'

/**
 * Prepares the release of the version in package.json: the npm package, the notes, the list of bundled packages (SBOM)
 * and the manifest of the kubectl plugin. Publishes nothing. Prints the outputs for `.github/workflows/release.yml`.
 *
 *     npm run --silent release FOLDER
 */

const root = join(import.meta.dirname, '..')
const folder = resolve(process.argv[2] ?? 'release')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: root, encoding: 'utf8' })

try {
  const lock = JSON.parse(read('package-lock.json'))
  const plan = planRelease({
    versions: {
      'package.json': JSON.parse(read('package.json')).version,
      'package-lock.json': lock.version,
      'package-lock.json (packages)': lock.packages[''].version,
      'src/version.ts': version,
    },
    tags: run('git', 'tag', '--list').split('\n'),
    changelog: read('CHANGELOG.md'),
  })
  mkdirSync(folder, { recursive: true })
  run('npm', 'pack', '--pack-destination', folder)
  const filename = `rollout-gate-${version}.tgz`
  const sha256 = createHash('sha256')
    .update(readFileSync(join(folder, filename)))
    .digest('hex')
  writeFileSync(join(folder, 'notes.md'), `${plan.notes}\n`)
  writeFileSync(
    join(folder, 'sbom.cdx.json'),
    run('npm', 'sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx'),
  )
  writeFileSync(join(folder, 'krew.yaml'), stringify(krewManifest(plan.tag, filename, sha256)))
  const outputs = {
    tag: plan.tag,
    'major-tag': plan.majorTag,
    latest: plan.isLatest,
    prerelease: plan.isPrerelease,
    'npm-tag': plan.npmTag,
    package: filename,
  }
  for (const [name, value] of Object.entries(outputs)) console.log(`${name}=${value}`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
