import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatedFiles, root } from './generated-files.ts'

/**
 * Writes the generated documentation; see `generatedFiles`.
 *
 *     node scripts/docs.ts           write the files
 *     node scripts/docs.ts --check   fail if a file is out of date
 */

for (const [name, text] of await generatedFiles()) {
  const path = join(root, name)
  if (!process.argv.includes('--check')) writeFileSync(path, text)
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${name} is out of date: run npm run docs and commit it.`)
    process.exitCode = 1
  }
}
