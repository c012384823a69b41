import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readManifestFiles } from '../../src/plan/manifest-files.ts'
import { rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

let root: string
let workspace: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'manifests-')))
  workspace = join(root, 'workspace')
  mkdirSync(workspace)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(...names: string[]) {
  for (const name of names) {
    const path = join(workspace, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `# ${name}\n`)
  }
}

const read = (lines: string) => readManifestFiles(lines, workspace, 'manifests')
const namesOf = (lines: string) => read(lines).files.map(({ name }) => name)
const messagesOf = (lines: string) =>
  read(lines).mistakes.map(({ input, line, message }) => `${input}${line === undefined ? '' : `:${line}`}: ${message}`)

describe('the input manifests', () => {
  beforeEach(() => {
    write('k8s/web.yaml', 'k8s/db/sts.yml', 'k8s/db/list.json', 'k8s/readme.md', 'k8s/.hidden/x.yaml', 'rendered.txt')
    write('k8s/UPPER.YAML', 'k8s/db/old/sts.yaml')
  })

  it.each(rows<[string, string, readonly string[]]>(data, 'a line names'))(
    'accepts a line with %s',
    (_, lines, files) => {
      expect(read(lines).mistakes).toEqual([])
      expect(namesOf(lines)).toEqual(files)
    },
  )

  it('reads a hidden manifest of a folder, like kubectl apply -f', () => {
    write('k8s/.late.yaml')
    expect(namesOf('k8s')).toEqual(['k8s/.late.yaml', 'k8s/web.yaml'])
  })

  it('reads a file whose name looks like a glob', () => {
    write('k8s/[web].yaml')
    expect(namesOf('k8s/[web].yaml')).toEqual(['k8s/[web].yaml'])
  })

  it('reads a file outside of the workspace by its absolute path', () => {
    writeFileSync(join(root, 'rendered.yaml'), 'a: 1')
    expect(read(join(root, 'rendered.yaml')).files).toEqual([{ name: join(root, 'rendered.yaml'), text: 'a: 1' }])
  })

  it('reports an exclude that excludes nothing', () => {
    expect(read('k8s/web.yaml\n!k8s/job.yaml').unusedExcludes).toEqual([{ line: 2, text: '!k8s/job.yaml' }])
  })
})

describe('the input `manifests` rejects', () => {
  beforeEach(() => write('k8s/web.yaml', 'docs/readme.md'))

  it.each(rows<[string, string, readonly string[]]>(data, 'a line is a mistake if it names'))(
    'a line with %s',
    (_, lines, messages) => {
      expect(messagesOf(lines)).toEqual(messages.map((words) => expect.stringMatching(toPattern(words))))
    },
  )

  it('a binary or UTF-16 manifest', () => {
    writeFileSync(join(workspace, 'a.yaml'), Buffer.from('a: 1', 'utf16le'))
    writeFileSync(join(workspace, 'b.yaml'), Buffer.from([0x61, 0xff, 0xfe]))
    expect(messagesOf('a.yaml\nb.yaml')).toEqual([
      'a.yaml: The file is not text in UTF-8 (it is binary, or UTF-16 as the > of PowerShell writes it).',
      'b.yaml: The file is not text in UTF-8 (it is binary, or UTF-16 as the > of PowerShell writes it).',
    ])
  })

  it('a manifest that is too large to be applied', () => {
    writeFileSync(join(workspace, 'big.yaml'), Buffer.alloc(8 * 1024 * 1024 + 1, 'a'))
    expect(messagesOf('big.yaml')).toEqual([
      'big.yaml: The file is larger than 8 MiB. Split it, or name fewer objects.',
    ])
  })
})

it('symbolic links within the workspace are followed, and a file is read once', () => {
  write('base/web.yaml')
  symlinkSync('../base', join(workspace, 'base/again'))
  symlinkSync('base/web.yaml', join(workspace, 'link.yaml'))
  expect(namesOf('**')).toEqual(['link.yaml'])
  expect(namesOf('link.yaml')).toEqual(['link.yaml'])
})

it('symbolic links that lead out of the workspace are rejected', () => {
  writeFileSync(join(root, 'secret.yaml'), 'a: 1')
  mkdirSync(join(workspace, 'k8s'))
  symlinkSync(join(root, 'secret.yaml'), join(workspace, 'k8s/a.yaml'))
  symlinkSync(root, join(workspace, 'k8s/b'))
  const refused = 'is a symbolic link to a path outside of the workspace. Name the file itself, or copy it.'
  expect(messagesOf('k8s')).toEqual([`manifests:1: "k8s/a.yaml" ${refused}`, `manifests:1: "k8s/b" ${refused}`])
  expect(messagesOf('k8s/a.yaml')).toEqual([`manifests:1: "k8s/a.yaml" ${refused}`])
  expect(messagesOf('k8s/*/*.yaml')).toEqual([expect.stringMatching(/Nothing matches|leads out/)])
})

it('symbolic links to missing files are reported', () => {
  symlinkSync('gone.yaml', join(workspace, 'link.yaml'))
  expect(messagesOf('link.yaml')).toEqual(['manifests:1: "link.yaml" cannot be read: it is a broken link.'])
})
