import { isUtf8 } from 'node:buffer'
import { globSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { type AddMistake, didYouMean, type Mistake, quote } from '../errors.ts'
import { writtenLines } from '../input-types.ts'
import { maxManifestBytes, maxManifestFiles } from '../thresholds.ts'
import { isInside, pathExists } from '../workspace.ts'

/* Finds and reads the files that the input `manifests` names. */

interface ManifestFile {
  /** The path relative to the workspace, with slashes. Outside the workspace, the absolute path. */
  readonly name: string
  readonly text: string
}

interface FoundFiles {
  readonly files: readonly ManifestFile[]
  /** The lines with `!` that exclude no file. */
  readonly unusedExcludes: readonly { readonly line: number; readonly text: string }[]
  readonly mistakes: readonly Mistake[]
}

/** The extensions of files that `kubectl apply -f` reads in a folder (cli-runtime pkg/resource, `FileExtensions`). */
const manifestEnding = /\.(json|yaml|yml)$/

/**
 * Reads the files that the lines name: files, folders or globs; `!` excludes. A folder includes only its own files,
 * like `kubectl apply -f` without `--recursive`. An excluded folder includes all files below it. Never throws for
 * invalid lines or files: mistakes are collected.
 *
 * A symbolic link must not leave the workspace, because a pull request can add links: the gate must not quote other
 * files of the machine. Files outside the workspace are read only if a line names their path.
 */
export function readManifestFiles(lines: string, workspace: string, input: string): FoundFiles {
  const mistakes: Mistake[] = []
  const found = new Map<string, FilePath>()
  const excludes: { readonly line: number; readonly text: string; readonly files: readonly FilePath[] }[] = []
  for (const { line, text } of writtenLines(lines)) {
    const addMistake: AddMistake = (message) => mistakes.push({ input, line, message })
    const exclude = text.startsWith('!')
    const pattern = exclude ? text.slice(1).trim() : text
    const files = findFiles(pattern, workspace, exclude, exclude ? () => {} : addMistake)
    if (exclude) excludes.push({ line, text, files })
    else for (const file of files) if (!found.has(file.real)) found.set(file.real, file)
    if (found.size > maxManifestFiles) {
      addMistake(`More than ${maxManifestFiles} files are named. Name fewer, or render them into one.`)
      return { files: [], unusedExcludes: [], mistakes }
    }
  }

  const excluded = new Set(excludes.flatMap(({ files }) => files.map(({ real }) => real)))
  const kept = [...found.values()].filter(({ real }) => !excluded.has(real))
  if (kept.length === 0 && mistakes.length === 0) {
    const message =
      found.size === 0
        ? 'No manifest is named. Write one file, folder or glob per line, like k8s/ or k8s/*.yaml.'
        : 'Every file is also excluded with "!". Remove an exclude.'
    mistakes.push({ input, message })
  }
  const files = kept.flatMap((file): ManifestFile[] => {
    const name = displayPath(file.path, workspace)
    const text = readTextFile(file.real, (message) => mistakes.push({ input: name, message }))
    return text === undefined ? [] : [{ name, text }]
  })
  return {
    files,
    unusedExcludes: excludes.flatMap(({ line, text, files }) =>
      files.some(({ real }) => found.has(real)) ? [] : [{ line, text }],
    ),
    mistakes,
  }
}

interface FilePath {
  /** The absolute path, which may contain symbolic links. */
  readonly path: string
  /** The path with all symbolic links resolved. */
  readonly real: string
}

/** Finds the files that one line names. */
function findFiles(
  pattern: string,
  workspace: string,
  isRecursive: boolean,
  addMistake: AddMistake,
): readonly FilePath[] {
  const named = resolve(workspace, pattern)
  const isGlob = !pathExists(named) && /[*?[{]/.test(pattern)
  const matches = isGlob
    ? globSync(pattern, { cwd: workspace })
        .map((match) => resolve(workspace, match))
        .sort()
    : [named]
  if (matches.length === 0) {
    addMistake(`Nothing matches ${quote(pattern)} in the workspace.`)
    return []
  }
  let isClean = true
  const addPathMistake: AddMistake = (message) => {
    isClean = false
    addMistake(message)
  }
  const walk: Walk = { files: [], folders: new Set(), isRecursive, addMistake: addPathMistake, workspace }
  // A pattern like k8s/** also matches files that are not manifests, so their extension must match.
  const isNamed = !isGlob || !pattern.endsWith('*')
  for (const path of matches) {
    if (pathExists(path)) visitPath(path, linkBoundary(path, workspace), isNamed ? 'named' : 'matched', walk)
    else addPathMistake(explainMissing(pattern, path))
  }
  if (walk.files.length === 0 && isClean)
    addMistake(
      `${quote(pattern)} contains no file that ends in .yaml, .yml or .json. For the files of its subfolders, write ${join(pattern, '**')}.`,
    )
  return walk.files
}

interface Walk {
  readonly files: FilePath[]
  /** The visited folders. Each folder is visited only once, because symbolic links may form a loop. */
  readonly folders: Set<string>
  readonly isRecursive: boolean
  readonly addMistake: AddMistake
  readonly workspace: string
}

/** Adds a file, or the files of a folder. `how`: a line names the path, a glob matches it, or a folder contains it. */
function visitPath(path: string, boundary: string, how: 'named' | 'matched' | 'inside', walk: Walk): void {
  const { files, folders, isRecursive, addMistake, workspace } = walk
  const name = displayPath(path, workspace)
  try {
    const real = realpathSync(path)
    if (!isInside(boundary, real)) {
      addMistake(
        `${quote(name)} is a symbolic link to a path outside of the workspace. Name the file itself, or copy it.`,
      )
      return
    }
    const stats = statSync(real)
    if (stats.isDirectory()) {
      if ((how === 'inside' && !isRecursive) || folders.has(real) || files.length > maxManifestFiles) return
      folders.add(real)
      for (const entry of readdirSync(path).sort()) visitPath(join(path, entry), boundary, 'inside', walk)
    } else if (stats.isFile()) {
      if (how === 'named' || manifestEnding.test(path)) files.push({ path, real })
    } else if (how === 'named') {
      addMistake(`${quote(name)} is neither a file nor a folder.`)
    }
  } catch (error) {
    addMistake(`${quote(name)} cannot be read: ${explainReadError(error)}.`)
  }
}

/** The folder that symbolic links must not leave: the workspace, or the folder of a path outside the workspace. */
function linkBoundary(path: string, workspace: string): string {
  if (isInside(workspace, path)) return realpathSync(workspace)
  return realpathSync(isFolder(path) ? path : dirname(path))
}

function displayPath(path: string, workspace: string): string {
  return isInside(workspace, path) ? relative(workspace, path).split(sep).join('/') || '.' : path
}

function explainMissing(pattern: string, path: string): string {
  const folder = dirname(path)
  const siblings = pathExists(folder) && isFolder(folder) ? readdirSync(folder) : []
  const hint =
    didYouMean(basename(path), siblings) ||
    (siblings.length > 0 ? '' : ' Is the repository checked out, and is the path relative to it?')
  return `There is no file or folder ${quote(pattern)} in the workspace.${hint}`
}

function readTextFile(path: string, addMistake: AddMistake): string | undefined {
  try {
    const { size } = statSync(path)
    if (size > maxManifestBytes) {
      addMistake(`The file is larger than ${maxManifestBytes / 1024 / 1024} MiB. Split it, or name fewer objects.`)
      return undefined
    }
    const bytes = readFileSync(path)
    if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes)
    addMistake('The file is not text in UTF-8 (it is binary, or UTF-16 as the > of PowerShell writes it).')
    return undefined
  } catch (error) {
    addMistake(`The file cannot be read: ${explainReadError(error)}.`)
    return undefined
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // The caller reports the error when the path is read.
    return false
  }
}

function explainReadError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EACCES') return 'permission is denied'
  if (code === 'ENOENT') return 'it is a broken link'
  if (code === 'ELOOP') return 'its links form a loop'
  return message
}
