import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readInputs } from '../src/inputs.ts'
import { findCommitsAround, findTrackedFiles, linkMistakes } from '../src/workspace.ts'

describe('paths inside the workspace', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-test-')))
  const workspace = join(folder, 'workspace')
  const outside = join(folder, 'outside')
  afterAll(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(workspace, 'folder'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'file'), 'x')
  writeFileSync(join(workspace, 'file'), 'x')
  symlinkSync(join(outside, 'file'), join(workspace, 'link'))
  symlinkSync('../outside', join(workspace, 'linked-folder'))
  symlinkSync(join(outside, 'absent'), join(workspace, 'dangling'))
  symlinkSync('dangling', join(workspace, 'link-to-link'))
  symlinkSync('loop', join(workspace, 'loop'))
  symlinkSync('file', join(workspace, 'inner-link'))
  symlinkSync(workspace, join(folder, 'linked-workspace'))

  const mistakesOf = (input: string, path: string, root = workspace) =>
    linkMistakes(readInputs({ [input]: path }).inputs, root).map(({ input, message }) => `${input}: ${message}`)

  test.each([
    ['a link to a file outside', 'link'],
    ['a file in a linked folder', 'linked-folder/file'],
    ['a file to be made in a linked folder', 'linked-folder/new/recording.ndjson'],
    ['a link to a file that does not exist yet', 'dangling'],
    ['a link to such a link', 'link-to-link'],
  ])('%s is a mistake of each input', (_, path) => {
    for (const input of ['kubeconfig', 'health-check-exprs', 'record'])
      expect(mistakesOf(input, join(workspace, path))).toEqual([
        `${input}: "${join(workspace, path)}" leads out of the workspace by a symbolic link. Name the file itself, or copy it.`,
      ])
  })

  test.each([
    ['a file', join(workspace, 'file')],
    ['a file to be made', join(workspace, 'new', 'recording.ndjson')],
    ['a link to a file of the workspace', join(workspace, 'inner-link')],
    ['a link to itself, which cannot be opened', join(workspace, 'loop')],
    ['a file outside that is named itself', join(outside, 'file')],
    ['a link outside of the workspace', join(folder, 'linked-workspace', 'file')],
  ])('%s may be used', (_, path) => {
    expect(mistakesOf('record', path)).toEqual([])
  })

  test('a workspace that is a link itself contains its files', () => {
    const root = join(folder, 'linked-workspace')
    expect(mistakesOf('record', join(root, 'file'), root)).toEqual([])
    expect(mistakesOf('record', join(root, 'link'), root)).toHaveLength(1)
  })

  test('a kubeconfig that is no path is left to its reader', () => {
    for (const text of ['apiVersion: v1\nkind: Config', 'eA/Y'.repeat(1_000), ''])
      expect(mistakesOf('kubeconfig', text)).toEqual([])
  })
})

describe('files that can be linked', () => {
  let workspace: string
  const url = 'https://github.com/acme/shop'

  beforeEach(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), 'tracked-test-')))
  })
  afterEach(() => rmSync(workspace, { recursive: true }))

  function git(folder: string, ...args: string[]): string {
    const settings = [
      'user.name=test',
      'user.email=test@example.com',
      'protocol.file.allow=always',
      'commit.gpgsign=false',
    ]
    const options = { cwd: join(workspace, folder), encoding: 'utf8' } as const
    return execFileSync('git', [...settings.flatMap((setting) => ['-c', setting]), ...args], options).trim()
  }

  function write(path: string): void {
    mkdirSync(join(workspace, path, '..'), { recursive: true })
    writeFileSync(join(workspace, path), path)
  }

  /** Makes a checkout with one commit in a folder of the workspace. Returns the commit. */
  function commit(folder: string, ...files: string[]): string {
    for (const file of files) write(join(folder, file))
    git(folder, 'init', '-q')
    git(folder, 'add', ...files)
    git(folder, 'commit', '-qm', 'x')
    return git(folder, 'rev-parse', 'HEAD')
  }

  const find = (files: string[], commits: (string | undefined)[], env: NodeJS.ProcessEnv = process.env) =>
    findTrackedFiles(files, workspace, { url, commits }, env)
  const linked = async (...args: Parameters<typeof find>) =>
    [...(await find(...args))].flatMap(([file, place]) => (place === 'untracked' ? [] : [file]))

  test('are those of the checked-out commit, not those that a step wrote', async () => {
    const sha = commit('', 'k8s/web.yaml', 'k8s/a (b)#c.yaml')
    write('k8s/rendered.yaml')
    const files = ['k8s/web.yaml', 'k8s/a (b)#c.yaml', 'k8s/rendered.yaml', 'k8s/gone.yaml']
    expect(Object.fromEntries(await find(files, [undefined, sha]))).toEqual({
      'k8s/web.yaml': { path: 'k8s/web.yaml', url: `${url}/blob/${sha}/k8s/web.yaml` },
      'k8s/a (b)#c.yaml': { path: 'k8s/a (b)#c.yaml', url: `${url}/blob/${sha}/k8s/a%20(b)%23c.yaml` },
      'k8s/rendered.yaml': 'untracked',
      'k8s/gone.yaml': 'untracked',
    })
  })

  test('have their path in the repository after a checkout into a folder', async () => {
    const sha = commit('src', 'k8s/web.yaml')
    expect((await find(['src/k8s/web.yaml'], [sha])).get('src/k8s/web.yaml')).toEqual({
      path: 'k8s/web.yaml',
      url: `${url}/blob/${sha}/k8s/web.yaml`,
    })
  })

  test('are those that a step changed without a commit, since their lines are near', async () => {
    const sha = commit('', 'web.yaml')
    writeFileSync(join(workspace, 'web.yaml'), 'image: built')
    expect(await linked(['web.yaml'], [sha])).toEqual(['web.yaml'])
  })

  test('are not those of a second repository', async () => {
    const sha = commit('', 'web.yaml')
    commit('charts', 'web.yaml')
    expect(await linked(['web.yaml', 'charts/web.yaml'], [sha])).toEqual(['web.yaml'])
  })

  test('are not those of a submodule', async () => {
    commit('other', 'web.yaml')
    commit('main', 'api.yaml')
    git('main', 'submodule', '--quiet', 'add', join(workspace, 'other'), 'charts')
    git('main', 'commit', '-qm', 'y')
    const sha = git('main', 'rev-parse', 'HEAD')
    expect(await linked(['main/api.yaml', 'main/charts/web.yaml'], [sha])).toEqual(['main/api.yaml'])
  })

  test('are not those of a commit that was made in the job', async () => {
    const sha = commit('', 'web.yaml')
    git('', 'commit', '-qm', 'y', '--allow-empty')
    expect(await linked(['web.yaml'], [sha])).toEqual([])
  })

  test('are found in a container, where another user owns the checkout', async () => {
    const sha = commit('', 'web.yaml')
    const env = { ...process.env, GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }
    expect(await linked(['web.yaml'], [sha], env)).toEqual(['web.yaml'])
  })

  test('are found in spite of variables that name another repository', async () => {
    const sha = commit('', 'web.yaml')
    expect(await linked(['web.yaml'], [sha], { ...process.env, GIT_DIR: '/nowhere' })).toEqual(['web.yaml'])
  })

  test('are not known without git, and without a checkout', async () => {
    write('web.yaml')
    expect(await find(['web.yaml'], ['0123abc'])).toEqual(new Map())
    const sha = commit('', 'web.yaml')
    expect(await find(['web.yaml'], [sha], { PATH: '/nowhere' })).toEqual(new Map())
  })

  test('has commits before and after one of them, by its hash, its short hash or its tag', async () => {
    const first = commit('', 'web.yaml')
    const next = () => {
      git('', 'commit', '-qm', 'y', '--allow-empty')
      return git('', 'rev-parse', 'HEAD')
    }
    const [second, third] = [next(), next()]
    git('', 'tag', 'v2', second)
    git('', 'checkout', '-q', second)
    for (const revision of [second, second.slice(0, 8), 'v2'])
      expect(await findCommitsAround(revision, workspace)).toEqual({ older: [first], newer: [third] })
    for (const revision of ['v3', '--all', first.replaceAll(/./g, '0')])
      expect(await findCommitsAround(revision, workspace)).toBeUndefined()
    expect(await findCommitsAround(second, workspace, { PATH: '/nowhere' })).toBeUndefined()
  })
})
