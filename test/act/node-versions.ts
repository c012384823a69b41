import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { run } from '../cluster/command.ts'

const root = join(import.meta.dirname, '../..')

/** A release that dist/ does not support, and that many machines still have. */
export const tooOldNode = '20.20.2'

/** The oldest release that dist/ supports, from `engines` in package.json, e.g. `22.19.0`. */
export function oldestNode(): string {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [, version] = /^>=(\d+\.\d+\.\d+)$/.exec(engines.node) ?? []
  if (!version) throw new Error(`engines.node of package.json names no oldest release: ${engines.node}`)
  return version
}

/** The major version of the Node that the runner uses for this action, from `runs.using` in action.yml, e.g. `24`. */
export function runnerMajor(): string {
  const { runs } = parse(readFileSync(join(root, 'action.yml'), 'utf8'))
  return String(runs.using).replace(/^node/, '')
}

/** Installs a Node release with npm, outside of this project, and returns its path. */
export async function installNode(version: string): Promise<string> {
  const path = await run('npm', ['exec', '--yes', `--package=node@${version}`, '--', 'node', '-p', 'process.execPath'])
  return path.trim()
}
