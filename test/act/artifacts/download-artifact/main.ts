import { cpSync, existsSync, readdirSync } from 'node:fs'
import { join, matchesGlob, resolve } from 'node:path'

/**
 * Copies artifacts from the folder of the variable `ARTIFACTS`, as src/download-artifact.ts of actions/download-artifact
 * v8.0.1 does. Each has a folder of its own in `path` only if there are several, and `merge-multiple` is not set.
 */
function download(): void {
  const {
    ARTIFACTS = '',
    GITHUB_SERVER_URL: server = '',
    INPUT_NAME,
    INPUT_PATTERN,
    INPUT_PATH,
    'INPUT_MERGE-MULTIPLE': merge,
    ...others
  } = process.env
  const unknown = Object.keys(others).filter((name) => name.startsWith('INPUT_'))
  if (unknown.length > 0) throw new Error(`${unknown} is not implemented`)
  // packages/artifact/src/internal/shared/config.ts of actions/toolkit
  if (!/^(github\.com|.*\.ghe\.com|.*\.localhost)$/.test(new URL(server).hostname))
    throw new Error('download-artifact@v4+ is not currently supported on GHES.')
  const all = existsSync(ARTIFACTS) ? readdirSync(ARTIFACTS) : []
  const isChosen = (name: string) => (INPUT_NAME ? name === INPUT_NAME : matchesGlob(name, INPUT_PATTERN || '*'))
  const chosen = all.filter(isChosen)
  if (INPUT_NAME && chosen.length === 0) throw new Error(`Artifact '${INPUT_NAME}' not found`)
  const path = resolve(INPUT_PATH || '.')
  const isDirect = chosen.length === 1 || merge === 'true'
  for (const name of chosen) cpSync(join(ARTIFACTS, name), isDirect ? path : join(path, name), { recursive: true })
  console.log(`Total of ${chosen.length} artifact(s) downloaded`)
}

try {
  download()
} catch (error) {
  console.log(`::error::Unable to download artifact(s): ${(error as Error).message}`)
  process.exitCode = 1
}
