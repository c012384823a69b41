import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readInputs } from '../src/inputs.ts'
import { linkMistakes } from '../src/workspace.ts'

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
    for (const input of ['kubeconfig', 'health-checks', 'record'])
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
