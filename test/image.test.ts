import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { version } from '../src/version.ts'

const root = join(import.meta.dirname, '..')
const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n')
const argumentsOf = (instruction: string) =>
  lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))

/** Lays out below a folder what the Dockerfile adds to its base image. */
function layOut(folder: string): void {
  for (const copy of argumentsOf('COPY')) {
    const paths = copy.split(' ')
    const target = join(folder, paths.pop() ?? '')
    mkdirSync(target, { recursive: true })
    for (const path of paths)
      cpSync(join(root, path), path.endsWith('/') ? target : join(target, path), { recursive: true })
  }
  for (const link of argumentsOf('RUN')) {
    const [, from = '', to = ''] = /^ln -s (\S+) (\S+)$/.exec(link) ?? []
    mkdirSync(dirname(join(folder, to)), { recursive: true })
    symlinkSync(join(folder, from), join(folder, to))
  }
}

it('the image has the major version of Node that the action requires', () => {
  const [, major] = /using: node(\d+)/.exec(readFileSync(join(root, 'action.yml'), 'utf8')) ?? []
  expect(argumentsOf('FROM')).toEqual([`node:${major}-trixie-slim`])
})

it('the build context contains all files that the Dockerfile copies', () => {
  const sent = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n')
  const copied = argumentsOf('COPY').flatMap((copy) =>
    copy
      .split(' ')
      .slice(0, -1)
      .map((path) => path.replace(/\/$/, '')),
  )
  expect(sent).toEqual(['*', ...copied.toSorted().map((path) => `!${path}`)])
})

// Only root may become another user.
const asRoot = process.getuid?.() === 0 ? it : it.skip

asRoot('the program of the image runs as its user, who cannot write its files', () => {
  const [user = ''] = argumentsOf('USER')
  const [uid = 0, gid = 0] = user.split(':').map(Number)
  expect(uid).toBeGreaterThan(0)
  const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-image-'))
  try {
    chmodSync(folder, 0o755)
    layOut(folder)
    const bin = join(folder, 'usr/local/bin')
    cpSync(process.execPath, join(bin, 'node'))
    const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: '/nonexistent' }
    const run = (...argv: string[]) =>
      spawnSync(join(bin, 'rollout-gate'), argv, { cwd: folder, env, uid, gid, encoding: 'utf8' })
    expect(run('--version')).toMatchObject({ status: 0, stdout: expect.stringContaining(version) })
    expect(run('wait', 'deployment/web')).toMatchObject({ status: 2 })
    const writable = ['-writable', '-not', '-type', 'l']
    expect(execFileSync('find', [folder, ...writable], { uid, gid, encoding: 'utf8' })).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
