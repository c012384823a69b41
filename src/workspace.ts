import { readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type Mistake, quote } from './errors.ts'
import type { Inputs } from './inputs.ts'

/** Whether a path is a folder or below it. Both are absolute. */
export function isInside(folder: string, path: string): boolean {
  const steps = relative(folder, path)
  return steps === '' || !(steps === '..' || steps.startsWith(`..${sep}`) || isAbsolute(steps))
}

/**
 * The mistakes in inputs that are paths. A pull request can add a symbolic link to the checkout, so a path inside the
 * workspace must not lead out of it: the gate would read or overwrite other files of the runner.
 * @param workspace the absolute path of the checkout
 */
export function linkMistakes(inputs: Inputs, workspace: string): readonly Mistake[] {
  const paths = [
    ['kubeconfig', kubeconfigPath(inputs.kubeconfig)],
    ['health-checks', inputs.healthChecks],
    ['record', inputs.record],
  ] as const
  return paths.flatMap(([input, path]) => {
    if (path === undefined || !leadsOutside(resolve(path), workspace)) return []
    const message = `${quote(path)} leads out of the workspace by a symbolic link. Name the file itself, or copy it.`
    return [{ input, message }]
  })
}

/**
 * The path in the input `kubeconfig`. Undefined for the content of a kubeconfig: several lines, or longer than a path.
 */
function kubeconfigPath(text: string | undefined): string | undefined {
  const path = text?.trim()
  return path === undefined || path === '' || path.length > 4_096 || /[\n\0]/.test(path) ? undefined : path
}

function leadsOutside(path: string, workspace: string): boolean {
  return isInside(workspace, path) && !isInside(realPath(workspace), realPath(path))
}

/** The path without symbolic links. Its last parts may not exist, and a link may point to nothing. */
function realPath(path: string, links = 0): string {
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
