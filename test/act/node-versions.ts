import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { run } from '../cluster/command.ts'

const root = join(import.meta.dirname, '../..')

/** A release that is older than any that dist/ runs on: the one that many machines still have. */
export const tooOldNode = '20.20.2'

/** The oldest release that dist/ runs on, by `engines` of package.json, e.g. `22.19.0`. */
export function oldestNode(): string {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [, version] = /^>=(\d+\.\d+\.\d+)$/.exec(engines.node) ?? []
  if (!version) throw new Error(`engines.node of package.json names no oldest release: ${engines.node}`)
  return version
}

/** The major version of the Node that the runner brings for this action, by `runs.using` of action.yml, e.g. `24`. */
export function runnersMajor(): string {
  const { runs } = parse(readFileSync(join(root, 'action.yml'), 'utf8'))
  return String(runs.using).replace(/^node/, '')
}

/** Installs a release of Node through npm, apart from this project's packages, and returns its path. */
export async function installNode(version: string): Promise<string> {
  const path = await run('npm', ['exec', '--yes', `--package=node@${version}`, '--', 'node', '-p', 'process.execPath'])
  return path.trim()
}
