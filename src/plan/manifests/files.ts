import { isUtf8 } from 'node:buffer'
import { globSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { type AddMistake, didYouMean, type Mistake, quote } from '../../errors.ts'
import { isInside } from '../../workspace.ts'

/** A manifest file with its text. */
interface ManifestFile {
  /** Relative to the workspace, with slashes; absolute outside the workspace. */
  readonly name: string
  readonly text: string
}

interface FoundFiles {
  readonly files: readonly ManifestFile[]
  /** Lines with `!` that exclude no file. */
  readonly unusedExcludes: readonly { readonly line: number; readonly text: string }[]
  readonly mistakes: readonly Mistake[]
}

/** Several objects fit: each is at most 1.5 MiB. The YAML syntax tree needs 70 times the memory of the text. */
const maxFileBytes = 8 * 1024 * 1024
const maxFiles = 5_000

/**
 * Reads the files of the lines: files, folders with all subfolders, globs; `!` excludes, `#` comments. Never throws for
 * invalid lines or files: mistakes are collected with their lines.
 *
 * Symbolic links must stay within the workspace: a pull request can add links, and the gate must not read and quote
 * other files of the machine. A path outside the workspace is read only if a line names it.
 */
export function readManifestFiles(lines: string, workspace: string, input: string): FoundFiles {
  const mistakes: Mistake[] = []
  const found = new Map<string, FilePath>()
  const excludes: { readonly line: number; readonly text: string; readonly paths: ReadonlySet<string> }[] = []

  for (const [index, raw] of lines.split(/\r\n|\r|\n/).entries()) {
    const line = index + 1
    const text = raw.trim()
    if (text === '' || text.startsWith('#')) continue
    const addMistake: AddMistake = (message) => mistakes.push({ input, line, message })
    const exclude = text.startsWith('!')
    const pattern = exclude ? text.slice(1).trim() : text
    const files = findFiles(pattern, workspace, exclude ? () => {} : addMistake)
    if (exclude) excludes.push({ line, text, paths: new Set(files.map(({ real }) => real)) })
    else for (const file of files) if (!found.has(file.real)) found.set(file.real, file)
    if (found.size > maxFiles) {
      addMistake(`More than ${maxFiles} files are named. Name fewer, or render them into one.`)
      return { files: [], unusedExcludes: [], mistakes }
    }
  }

  const kept = [...found.values()].filter(({ real }) => !excludes.some(({ paths }) => paths.has(real)))
  if (kept.length === 0 && mistakes.length === 0) {
    const message =
      found.size === 0
        ? 'No manifest is named. Write one file, folder or glob per line, like k8s/ or k8s/*.yaml.'
        : 'Every file is also excluded with "!". Remove an exclude.'
    mistakes.push({ input, message })
  }
  const files = kept.flatMap((file): ManifestFile[] => {
    const name = nameOf(file.path, workspace)
    const text = readText(file.real, (message) => mistakes.push({ input: name, message }))
    return text === undefined ? [] : [{ name, text }]
  })
  const unused = excludes.filter(({ paths }) => ![...paths].some((path) => found.has(path)))
  return { files, unusedExcludes: unused.map(({ line, text }) => ({ line, text })), mistakes }
}

interface FilePath {
  /** As the user wrote it, or as found in a folder. */
  readonly path: string
  /** The path with all symbolic links resolved. */
  readonly real: string
}

/** The files of one line. */
function findFiles(pattern: string, workspace: string, addMistake: AddMistake): FilePath[] {
  const named = resolve(workspace, pattern)
  const isGlob = !exists(named) && /[*?[{]/.test(pattern)
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
  const addOwnMistake: AddMistake = (message) => {
    isClean = false
    addMistake(message)
  }
  const files: FilePath[] = []
  const folders = new Set<string>()
  for (const path of matches) {
    if (exists(path))
      walk(path, boundaryOf(path, workspace), true, { files, folders, addMistake: addOwnMistake, workspace })
    else addOwnMistake(explainMissing(pattern, path))
  }
  if (files.length === 0 && isClean) addMistake(`${quote(pattern)} contains no file that ends in .yaml, .yml or .json.`)
  return files
}

interface Walk {
  readonly files: FilePath[]
  /** Visited folders. They are not visited again, because links may form a loop. */
  readonly folders: Set<string>
  readonly addMistake: AddMistake
  readonly workspace: string
}

function walk(path: string, boundary: string, isNamed: boolean, state: Walk): void {
  const { files, folders, addMistake, workspace } = state
  const name = nameOf(path, workspace)
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
      if (folders.has(real) || files.length > maxFiles) return
      folders.add(real)
      const entries = readdirSync(path).filter((entry) => !entry.startsWith('.'))
      for (const entry of entries.sort()) walk(join(path, entry), boundary, false, state)
    } else if (stats.isFile()) {
      if (isNamed || /\.(ya?ml|json)$/i.test(path)) files.push({ path, real })
    } else if (isNamed) {
      addMistake(`${quote(name)} is neither a file nor a folder.`)
    }
  } catch (error) {
    addMistake(`${quote(name)} cannot be read: ${reasonOf(error)}.`)
  }
}

/** The folder that symbolic links must not leave: the workspace, or the path's folder if it is outside. */
function boundaryOf(path: string, workspace: string): string {
  if (isInside(workspace, path)) return realpathSync(workspace)
  return realpathSync(isFolder(path) ? path : dirname(path))
}

function nameOf(path: string, workspace: string): string {
  return isInside(workspace, path) ? relative(workspace, path).split(sep).join('/') || '.' : path
}

function explainMissing(pattern: string, path: string): string {
  const folder = dirname(path)
  const siblings = exists(folder) && isFolder(folder) ? readdirSync(folder) : []
  const hint =
    didYouMean(basename(path), siblings) ||
    (siblings.length > 0 ? '' : ' Is the repository checked out, and is the path relative to it?')
  return `There is no file or folder ${quote(pattern)} in the workspace.${hint}`
}

function readText(path: string, addMistake: AddMistake): string | undefined {
  try {
    const { size } = statSync(path)
    if (size > maxFileBytes) {
      addMistake(`The file is larger than ${maxFileBytes / 1024 / 1024} MiB. Split it, or name fewer objects.`)
      return undefined
    }
    const bytes = readFileSync(path)
    if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes)
    addMistake('The file is not text in UTF-8 (it is binary, or UTF-16 as the > of PowerShell writes it).')
    return undefined
  } catch (error) {
    addMistake(`The file cannot be read: ${reasonOf(error)}.`)
    return undefined
  }
}

/** Whether a path exists, also as a broken link. */
function exists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return !['ENOENT', 'ENOTDIR'].includes(code)
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // The caller reports the error when it reads the path.
    return false
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EACCES') return 'permission is denied'
  if (code === 'ENOENT') return 'it is a broken link'
  if (code === 'ELOOP') return 'its links form a loop'
  return message
}
