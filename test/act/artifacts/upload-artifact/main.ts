import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/**
 * Stores files as an artifact below the folder of the variable `ARTIFACTS`, as src/upload/upload-artifact.ts and
 * src/shared/search.ts of actions/upload-artifact v7.0.0 do: relative to their common folder, which for one file is its own.
 */
function upload(): void {
  const {
    ARTIFACTS = '',
    GITHUB_SERVER_URL: server = '',
    INPUT_NAME = '',
    INPUT_PATH = '',
    INPUT_OVERWRITE = '',
    ...others
  } = process.env
  const unknown = Object.keys(others).filter((name) => name.startsWith('INPUT_'))
  if (unknown.length > 0) throw new Error(`${unknown} is not implemented`)
  // packages/artifact/src/internal/shared/config.ts of actions/toolkit
  if (!/^(github\.com|.*\.ghe\.com|.*\.localhost)$/.test(new URL(server).hostname))
    throw new Error('upload-artifact@v4+ is not currently supported on GHES.')
  const lines = INPUT_PATH.split('\n').map((line) => line.trim())
  const paths = lines.filter(Boolean).map((path) => resolve(path))
  const files = paths.filter((path) => existsSync(path))
  if (files.length === 0) {
    console.log(`::warning::No files were found with the provided path: ${INPUT_PATH}. No artifacts will be uploaded.`)
    return
  }
  const artifact = join(ARTIFACTS, INPUT_NAME)
  if (INPUT_OVERWRITE === 'true') rmSync(artifact, { recursive: true, force: true })
  if (existsSync(artifact)) throw new Error('(409) Conflict: an artifact with this name already exists')
  mkdirSync(artifact, { recursive: true })
  const root = commonFolder(paths)
  for (const file of files) cpSync(file, join(artifact, relative(root, file)))
}

function commonFolder([first = '', ...others]: readonly string[]): string {
  let folder = dirname(first)
  while (!others.every((path) => path.startsWith(`${folder}/`))) folder = dirname(folder)
  return folder
}

try {
  upload()
} catch (error) {
  console.log(`::error::${(error as Error).message}`)
  process.exitCode = 1
}
