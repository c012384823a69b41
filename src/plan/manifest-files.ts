import { isUtf8 } from 'node:buffer'
import { globSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { type AddMistake, didYouMean, type Mistake, quote } from '../errors.ts'
import { writtenLines } from '../input-types.ts'
import { maxManifestBytes, maxManifestFiles } from '../thresholds.ts'
import { isInside, pathExists, realPath } from '../workspace.ts'

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
  /** The paths of the files, by their real paths: several links may lead to the same file. */
  const found = new Map<string, string>()
  const excludes: { readonly line: number; readonly text: string; readonly paths: readonly string[] }[] = []
  for (const { line, text } of writtenLines(lines)) {
    const addMistake: AddMistake = (message) => mistakes.push({ input, line, message })
    if (text.startsWith('!')) {
      const { paths } = matchPaths(text.slice(1).trim(), workspace)
      excludes.push({ line, text, paths: paths.filter(pathExists).map((path) => realPath(path)) })
      continue
    }
    for (const path of findFiles(text, workspace, addMistake)) {
      const real = realPath(path)
      if (!found.has(real)) found.set(real, path)
    }
    if (found.size > maxManifestFiles) {
      addMistake(`More than ${maxManifestFiles} files are named. Name fewer, or render them into one.`)
      return { files: [], unusedExcludes: [], mistakes }
    }
  }

  const excluded = new Set(excludes.flatMap(({ paths }) => paths))
  const kept = [...found].filter(([real]) => !withFolders(real).some((path) => excluded.has(path)))
  if (kept.length === 0 && mistakes.length === 0) {
    const message =
      found.size === 0
        ? 'No manifest is named. Write one file, folder or glob per line, like k8s/ or k8s/*.yaml.'
        : 'Every file is also excluded with "!". Remove an exclude.'
    mistakes.push({ input, message })
  }
  const files = kept.flatMap(([real, path]): ManifestFile[] => {
    const name = displayPath(path, workspace)
    const text = readTextFile(real, (message) => mistakes.push({ input: name, message }))
    return text === undefined ? [] : [{ name, text }]
  })
  const named = new Set([...found.keys()].flatMap(withFolders))
  const unusedExcludes = excludes.filter(({ paths }) => !paths.some((path) => named.has(path)))
  return { files, unusedExcludes: unusedExcludes.map(({ line, text }) => ({ line, text })), mistakes }
}

/** A path and all folders that contain it. */
function withFolders(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [path] : [path, ...withFolders(folder)]
}

/** The absolute paths that a line means. Only the paths of a glob are sure to exist. */
function matchPaths(
  pattern: string,
  workspace: string,
): { readonly paths: readonly string[]; readonly isGlob: boolean } {
  const named = resolve(workspace, pattern)
  if (pathExists(named) || !/[*?[{]/.test(pattern)) return { paths: [named], isGlob: false }
  const matches = globSync(pattern, { cwd: workspace })
  return { paths: matches.map((match) => resolve(workspace, match)).sort(), isGlob: true }
}

/** Finds the files that one line names. */
function findFiles(pattern: string, workspace: string, addMistake: AddMistake): readonly string[] {
  const { paths, isGlob } = matchPaths(pattern, workspace)
  if (paths.length === 0) {
    addMistake(`Nothing matches ${quote(pattern)} in the workspace.`)
    return []
  }
  let isClean = true
  const addPathMistake: AddMistake = (message) => {
    isClean = false
    addMistake(message)
  }
  // A pattern like k8s/** also matches files that are not manifests, so their extension must match.
  const isNamed = !isGlob || !pattern.endsWith('*')
  const files = paths.flatMap((path) => {
    if (!pathExists(path)) addPathMistake(explainMissing(pattern, path))
    else return filesAt(path, isNamed ? 'named' : 'matched', linkBoundary(path, workspace), workspace, addPathMistake)
    return []
  })
  if (files.length === 0 && isClean)
    addMistake(
      `${quote(pattern)} contains no file that ends in .yaml, .yml or .json. For the files of its subfolders, write ${join(pattern, '**')}.`,
    )
  return files
}

/** The file at a path, or the files of a folder. `how`: a line names the path, a glob matches it, or it is in a folder. */
function filesAt(
  path: string,
  how: 'named' | 'matched' | 'in folder',
  boundary: string,
  workspace: string,
  addMistake: AddMistake,
): readonly string[] {
  const name = displayPath(path, workspace)
  try {
    if (!isInside(boundary, realpathSync(path))) {
      addMistake(
        `${quote(name)} is a symbolic link to a path outside of the workspace. Name the file itself, or copy it.`,
      )
      return []
    }
    const stats = statSync(path)
    if (stats.isFile()) return how === 'named' || manifestEnding.test(path) ? [path] : []
    if (stats.isDirectory()) {
      const entries = how === 'in folder' ? [] : readdirSync(path).sort()
      return entries.flatMap((entry) => filesAt(join(path, entry), 'in folder', boundary, workspace, addMistake))
    }
    if (how === 'named') addMistake(`${quote(name)} is neither a file nor a folder.`)
  } catch (error) {
    addMistake(`${quote(name)} cannot be read: ${explainReadError(error)}.`)
  }
  return []
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
