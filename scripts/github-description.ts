import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Generates `test/github/description.json`: the part of GitHub's OpenAPI description that the tests of the extras validate
 * requests with. The npm package of the whole description has 470 MB, too much for `npm ci`.
 *
 *     node scripts/github-description.ts
 */

const packageName = '@octokit/openapi'
const packageVersion = '23.0.2'
const operations: Readonly<Record<string, readonly string[]>> = {
  '/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs': ['get'],
  '/repos/{owner}/{repo}/commits/{commit_sha}/pulls': ['get'],
  '/repos/{owner}/{repo}/commits/{ref}/statuses': ['get'],
  '/repos/{owner}/{repo}/deployments': ['get', 'post'],
  '/repos/{owner}/{repo}/deployments/{deployment_id}/statuses': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/{issue_number}/comments': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/comments/{comment_id}': ['get', 'patch'],
  '/repos/{owner}/{repo}/pulls': ['get'],
  '/repos/{owner}/{repo}/pulls/{pull_number}': ['get'],
  '/repos/{owner}/{repo}/statuses/{sha}': ['post'],
}

interface Description {
  readonly openapi: string
  readonly info: Readonly<Record<string, unknown>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: Components
}

type Components = Record<string, Record<string, unknown>>

const { description, license } = download()
const paths = Object.fromEntries(
  Object.entries(operations).map(([path, methods]) => [
    path,
    Object.fromEntries(methods.map((method) => [method, operation(path, method)])),
  ]),
)
const { openapi, info } = description
const excerpt = {
  openapi,
  info: { title: info['title'], version: info['version'], license: info['license'] },
  'x-excerpt-of': { package: `${packageName}@${packageVersion}`, license },
  paths,
  components: componentsOf(paths),
}
writeFileSync(
  join(import.meta.dirname, '../test/github/description.json'),
  `${JSON.stringify(excerpt, undefined, 1)}\n`,
)

function download(): { readonly description: Description; readonly license: string } {
  const folder = mkdtempSync(join(tmpdir(), 'github-description-'))
  try {
    const options = { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' } as const
    const archive = execFileSync('npm', ['pack', '--silent', `${packageName}@${packageVersion}`], options).trim()
    const wanted = ['package/generated/api.github.com.json', 'package/LICENSE'] as const
    execFileSync('tar', ['-xzf', archive, ...wanted], options)
    const [content, license] = wanted.map((name) => readFileSync(join(folder, name), 'utf8'))
    return { description: JSON.parse(content ?? ''), license: license ?? '' }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function operation(path: string, method: string): unknown {
  const found = description.paths[path]?.[method]
  if (found === undefined) throw new Error(`The description no longer contains ${method} ${path}.`)
  return found
}

/** All components that these parts reference, directly or indirectly. */
function componentsOf(parts: unknown): Components {
  const components: Components = {}
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    for (const value of Object.values(part)) visit(value)
    const [, type, name] = /^#\/components\/([^/]+)\/([^/]+)$/.exec(String('$ref' in part ? part.$ref : '')) ?? []
    if (type === undefined || name === undefined || components[type]?.[name] !== undefined) return
    const component = description.components[type]?.[name]
    components[type] = { ...components[type], [name]: component }
    visit(component)
  }
  visit(parts)
  return components
}
