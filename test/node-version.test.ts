import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { nodeVersionError, startOnCurrentNode } from '../src/node-version.ts'

const root = join(import.meta.dirname, '..')
/** The text of a file on one line, wherever it is wrapped. */
const textOf = (name: string) => readFileSync(join(root, name), 'utf8').replaceAll(/\s+/g, ' ')

describe('the version of Node.js', () => {
  it.each(['16.20.2', '20.20.2', '22.18.0', '21.99.0'])(
    '%s is too old, with a message about the version needed',
    (version) => {
      expect(nodeVersionError(version)).toMatch(
        `Rollout Gate needs Node 22.19 or newer (this is v${version}). Update Node`,
      )
    },
  )

  it('is missing on a runner for Linux ARM32, which has none', () => {
    expect(nodeVersionError('20.19.5', 'linux-arm')).toMatch(/v20\.19\.5\).*no Node 24 for Linux on 32-bit ARM/)
  })

  it.each(['linux-x64', 'linux-arm64', 'win32-x64'])(
    'is missing on an old runner on %s, which is to be updated',
    (runner) => {
      expect(nodeVersionError('20.19.5', runner)).toMatch(/v20\.19\.5\).*Update the runner to 2\.327\.1 or newer/)
    },
  )

  it('fails the action with one error annotation on an old runner', async () => {
    const { versions, exitCode } = process
    const { log } = console
    const printed: string[] = []
    Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.19.5' }, configurable: true })
    console.log = (line: string) => printed.push(line)
    try {
      await startOnCurrentNode(() => Promise.reject(new Error('started')), true)
      expect(process.exitCode).toBe(1)
      expect(printed).toEqual([expect.stringMatching(/^::error title=[\w ]+::Rollout Gate needs Node 22\.19 or newer/)])
    } finally {
      console.log = log
      Object.defineProperty(process, 'versions', { value: versions, configurable: true })
      process.exitCode = exitCode
    }
  })

  it.each(['22.19.0', '23.0.0', '24.1.0'])('%s is new enough', (version) => {
    expect(nodeVersionError(version)).toBeUndefined()
  })

  it('starts the program on the Node of these tests', async () => {
    let started = false
    await startOnCurrentNode(async () => {
      started = true
    })
    expect(started).toBe(true)
  })
})

describe('the documentation of Node.js versions', () => {
  const manifest = JSON.parse(textOf('package.json'))
  const [, oldest] = /needs Node (\d+\.\d+) or newer/.exec(nodeVersionError('0.0.0') ?? '') ?? []
  const [, major] = /^node(\d+)$/.exec(parse(readFileSync(join(root, 'action.yml'), 'utf8')).runs.using) ?? []

  it('package.json and README name the oldest Node that the command line runs on', () => {
    expect(manifest.engines.node).toBe(`>=${oldest}.0`)
    expect(textOf('README.md')).toContain(`The command line needs Node ${oldest} or newer`)
  })

  it('README names the Node of action.yml, and the scripts install it', () => {
    expect(textOf('README.md')).toContain(`[Node ${major} of the runner]`)
    expect(textOf('CONTRIBUTING.md')).toContain(`the Node ${major} that the scripts run on`)
    expect(manifest.devDependencies.node).toMatch(new RegExp(`^${major}\\.`))
  })

  it('package.json, README and CONTRIBUTING name the oldest Node that starts the scripts', () => {
    const [, started] = /^>=(\d+)$/.exec(manifest.devEngines?.runtime.version) ?? []
    expect(textOf('README.md')).toContain(`with Node ${started} or newer`)
    expect(textOf('CONTRIBUTING.md')).toContain(`With Node ${started} or newer`)
  })
})
