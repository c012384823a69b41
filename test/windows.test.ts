import * as fs from 'node:fs'
import { win32 } from 'node:path'
import { jest } from '@jest/globals'

/** The files of a drive. What Node's `fs` returns for them on Windows: https://nodejs.org/docs/latest-v24.x/api/fs.html */
const drive: Readonly<Record<string, string>> = {
  'C:\\work\\k8s\\web.yaml': 'kind: Deployment\r\n',
  'C:\\work\\k8s\\jobs\\migrate.yml': 'kind: Job\r\n',
  'D:\\secrets\\other.yaml': 'kind: Secret\r\n',
}

const isFolder = (path: string) => Object.keys(drive).some((file) => file.startsWith(`${path}\\`))

function statOf(path: string) {
  const text = drive[path]
  if (text === undefined && !isFolder(path)) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  return { isDirectory: () => text === undefined, isFile: () => text !== undefined, size: text?.length ?? 0 }
}

jest.unstable_mockModule('node:path', () => ({
  ...win32,
  // Node resolves against the drive of the process.
  resolve: (...paths: string[]) => win32.resolve('C:\\work', ...paths),
}))
jest.unstable_mockModule('node:fs', () => ({
  ...fs,
  lstatSync: statOf,
  statSync: statOf,
  realpathSync: (path: string) => path,
  readdirSync: (path: string) => [
    ...new Set(
      Object.keys(drive).flatMap((file) =>
        file.startsWith(`${path}\\`) ? file.slice(path.length + 1).split('\\')[0] : [],
      ),
    ),
  ],
  readFileSync: (path: string) => Buffer.from(drive[path] ?? ''),
}))

const { isInside } = await import('../src/workspace.ts')
const { readManifestFiles } = await import('../src/plan/manifest-files.ts')

describe('on Windows,', () => {
  it.each([
    ['C:\\work', 'C:\\work\\k8s\\web.yaml', true],
    ['C:\\work', 'c:\\WORK\\k8s', true],
    ['C:\\work', 'C:\\work', true],
    ['C:\\work', 'C:\\workshop\\web.yaml', false],
    ['C:\\work', 'C:\\work\\..\\other', false],
    ['C:\\work', 'D:\\work\\web.yaml', false],
    ['C:\\work', '\\\\server\\share\\web.yaml', false],
  ])('the folder %s and the path %s: inside is %s', (folder, path, expected) => {
    expect(isInside(folder, path)).toBe(expected)
  })

  it.each([
    ['k8s\\', ['k8s/web.yaml']],
    ['k8s/', ['k8s/web.yaml']],
    ['k8s\\jobs\\migrate.yml', ['k8s/jobs/migrate.yml']],
    ['D:\\secrets\\other.yaml', ['D:\\secrets\\other.yaml']],
  ])('the manifests of the line %s are named %j, with slashes inside the workspace', (line, names) => {
    const { files, mistakes } = readManifestFiles(line, 'C:\\work', 'manifests')
    expect(mistakes).toEqual([])
    expect(files.map(({ name }) => name)).toEqual(names)
  })

  it('the lines of the input manifests may end in CR LF', () => {
    const { files } = readManifestFiles('k8s\\web.yaml\r\nk8s\\jobs\\migrate.yml\r\n', 'C:\\work', 'manifests')
    expect(files.map(({ name }) => name)).toEqual(['k8s/web.yaml', 'k8s/jobs/migrate.yml'])
  })
})
