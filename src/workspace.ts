import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type Mistake, quote } from './errors.ts'
import type { Inputs } from './inputs.ts'
import { gitMs, maxCommitsAround } from './thresholds.ts'

/* The checkout of the repository: checks that paths stay in it, and asks git about files and commits. */

/** Whether a path is a folder itself, or below the folder. Both are absolute. */
export function isInside(folder: string, path: string): boolean {
  const steps = relative(folder, path)
  return steps === '' || !(steps === '..' || steps.startsWith(`..${sep}`) || isAbsolute(steps))
}

/**
 * The mistakes in inputs that are paths. A pull request can add symbolic links to the checkout. If a path led out of
 * the workspace, the gate would read or overwrite other files of the runner.
 * @param workspace the absolute path of the checkout
 */
export function linkMistakes(inputs: Inputs, workspace: string): readonly Mistake[] {
  const paths = [
    ['kubeconfig', kubeconfigPath(inputs.kubeconfig)],
    ['health-check-exprs', inputs.healthCheckExprs],
    ['record', inputs.record],
  ] as const
  return paths.flatMap(([input, path]) => {
    if (path === undefined || !isLinkedOutside(resolve(path), workspace)) return []
    const message = `${quote(path)} leads out of the workspace by a symbolic link. Name the file itself, or copy it.`
    return [{ input, message }]
  })
}

/** The path in the input `kubeconfig`. Undefined if the input is the content: it has several lines, or is too long. */
function kubeconfigPath(text: string | undefined): string | undefined {
  const path = text?.trim()
  return path === undefined || path === '' || path.length > 4_096 || /[\n\0]/.test(path) ? undefined : path
}

/** Whether a path exists. A broken link exists too. */
export function pathExists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return !['ENOENT', 'ENOTDIR'].includes(code)
  }
}

/** Whether a symbolic link leads a path of the workspace out of the workspace. Both are absolute. */
export function isLinkedOutside(path: string, workspace: string): boolean {
  return isInside(workspace, path) && !isInside(realPath(workspace), realPath(path))
}

/** Resolves symbolic links in a path. Its last parts need not exist, and links may be broken. */
export function realPath(path: string, links = 0): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    if (parent === path || links > 40) return path
    const target = linkTarget(path)
    if (target !== undefined) return realPath(resolve(realPath(parent, links), target), links + 1)
    return join(realPath(parent, links), basename(path))
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** A file of the commit for which the workflow runs. */
export interface TrackedFile {
  /** The path in the repository. After a checkout into a folder, the path in the workspace is another. */
  readonly path: string
  /** The URL of the file's page on GitHub. */
  readonly url: string
}

/** Files by their path relative to the workspace. Absent if unknown: without git, or outside of a checkout. */
export type TrackedFiles = ReadonlyMap<string, TrackedFile | 'untracked'>

/** The repository for which the workflow runs. */
interface LinkedRepository {
  /** The URL of the repository's page, without a trailing slash. */
  readonly url: string
  /** Commits that exist on GitHub. For a pull request: its merge commit and its head. */
  readonly commits: readonly (string | undefined)[]
}

/**
 * Finds out which files the checked-out commit contains. Links to other files would be broken, such as rendered charts,
 * files of a submodule, or files of a commit that the job made. Never rejects.
 * @param files paths relative to the workspace
 */
export async function findTrackedFiles(
  files: Iterable<string>,
  workspace: string,
  repository: LinkedRepository,
  env: NodeJS.ProcessEnv = process.env,
): Promise<TrackedFiles> {
  const rootOf = new Map<string, string | undefined>()
  const found = [...new Set(files)].flatMap((file) => {
    const path = resolve(workspace, file)
    const root = findCheckout(dirname(path), rootOf)
    if (root === undefined || file.includes('\n')) return []
    return [{ file, root, path: relative(root, path).split(sep).join('/') }]
  })
  const checkouts = [...Map.groupBy(found, ({ root }) => root)].map(async ([root, inside]) => {
    // Git prints the name and type of each object: `0123abc blob`.
    const args = ['cat-file', '--batch-check=%(objectname) %(objecttype)']
    const names = ['HEAD\n', ...inside.map(({ path }) => `HEAD:${path}\n`)].join('')
    const [head, ...types] = await runGit(root, args, env, names)
    if (head === undefined) return []
    const [commit = ''] = head.split(' ')
    const isLinked = repository.commits.includes(commit)
    return inside.map(({ file, path }, index): readonly [string, TrackedFile | 'untracked'] => {
      if (!isLinked || !types[index]?.endsWith(' blob')) return [file, 'untracked']
      const url = `${repository.url}/blob/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`
      return [file, { path, url }]
    })
  })
  return new Map((await Promise.all(checkouts)).flat())
}

/** The nearest folder with `.git`. In a submodule, `.git` is a file. @param known the results for folders so far */
function findCheckout(folder: string, known: Map<string, string | undefined>): string | undefined {
  if (known.has(folder)) return known.get(folder)
  const parent = dirname(folder)
  const root = existsSync(join(folder, '.git')) ? folder : parent === folder ? undefined : findCheckout(parent, known)
  known.set(folder, root)
  return root
}

/** Commits before and after a commit of the checkout. */
interface CommitsAround {
  readonly older: readonly string[]
  readonly newer: readonly string[]
}

/**
 * The commits before and after a revision in the fetched history, the latest `maxCommitsAround` of each. Undefined if
 * there is no git or no checkout, or if the checkout does not contain the revision. Never rejects.
 * @param revision a commit or a tag
 */
export async function findCommitsAround(
  revision: string,
  workspace: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<CommitsAround | undefined> {
  const root = findCheckout(resolve(workspace), new Map())
  if (root === undefined || !/^[\w.][\w./-]*$/.test(revision)) return undefined
  const [commit = ''] = await runGit(root, ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`], env)
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return undefined
  const list = (...args: readonly string[]) => runGit(root, ['rev-list', ...args], env)
  const [older, newer] = await Promise.all([
    list(`--max-count=${maxCommitsAround + 1}`, commit),
    list(`--max-count=${maxCommitsAround}`, '--ancestry-path', '--all', `^${commit}`),
  ])
  const isCommit = (line: string) => line !== '' && line !== commit
  return { older: older.filter(isCommit), newer: newer.filter(isCommit) }
}

/** The lines that a git command prints; none if it fails. The command must only read. */
async function runGit(
  root: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  input = '',
): Promise<readonly string[]> {
  // Loaded only if needed, so that other gates start faster.
  const { execFile } = await import('node:child_process')
  // In a container, the checkout has another owner. Git accepts this here, which is safe: the command runs no hook.
  const args = ['-c', 'safe.directory=*', '-C', root, ...command]
  // Git must not get the action's inputs, which are secret, or variables that point to another repository.
  const omitted = /^(INPUT_.*|GIT_(DIR|WORK_TREE|COMMON_DIR|OBJECT_DIRECTORY|NAMESPACE))$/
  const variables = Object.entries(env).filter(([name]) => !omitted.test(name))
  return new Promise((resolve) => {
    const options = {
      // Windows searches programs first in this folder. In the checkout, a pull request could have added git.exe.
      cwd: dirname(process.execPath),
      env: { ...Object.fromEntries(variables), GIT_NO_LAZY_FETCH: '1', GIT_TERMINAL_PROMPT: '0' },
      timeout: gitMs,
      maxBuffer: 16 * 1024 * 1024,
      windowsHide: true,
    }
    try {
      const git = execFile('git', args, options, (error, stdout) => resolve(error ? [] : stdout.split('\n')))
      git.stdin?.on('error', () => {}).end(input)
    } catch {
      resolve([])
    }
  })
}
