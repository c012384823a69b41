import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { startOnCurrentNode, whyTooOld } from '../src/node-version.ts'

const root = join(import.meta.dirname, '..')
/** The text of a file on one line, wherever it is wrapped. */
const textOf = (name: string) => readFileSync(join(root, name), 'utf8').replaceAll(/\s+/g, ' ')

describe('the Node that is needed', () => {
  it.each(['16.20.2', '20.20.2', '22.18.0', '21.99.0'])(
    '%s is too old, with a message about the version needed',
    (version) => {
      expect(whyTooOld(version)).toMatch(`Rollout Gate needs Node 22.19 or newer (this is v${version}). Update Node`)
    },
  )

  it.each(['22.19.0', '23.0.0', '24.1.0'])('%s is new enough', (version) => {
    expect(whyTooOld(version)).toBeUndefined()
  })

  it('starts the program on the Node of these tests', async () => {
    let started = false
    await startOnCurrentNode(async () => {
      started = true
    })
    expect(started).toBe(true)
  })
})

describe('the documentation of Node versions', () => {
  const manifest = JSON.parse(textOf('package.json'))
  const [, oldest] = /needs Node (\d+\.\d+) or newer/.exec(whyTooOld('0.0.0') ?? '') ?? []
  const [, major] = /^node(\d+)$/.exec(parse(readFileSync(join(root, 'action.yml'), 'utf8')).runs.using) ?? []

  it('package.json and README name the oldest Node that the command line runs on', () => {
    expect(manifest.engines.node).toBe(`>=${oldest}.0`)
    expect(textOf('README.md')).toContain(`The command line needs Node ${oldest} or newer`)
    expect(textOf('CONTRIBUTING.md')).toContain(`Node ${oldest} or newer`)
  })

  it('README names the Node of action.yml, and the scripts install it', () => {
    expect(textOf('README.md')).toContain(`the Node ${major} that the runner brings`)
    expect(textOf('CONTRIBUTING.md')).toContain(`the Node ${major} that the action runs on`)
    expect(manifest.devDependencies.node).toMatch(new RegExp(`^${major}\\.`))
  })

  it('package.json, README and CONTRIBUTING name the oldest Node that starts the scripts', () => {
    const [, started] = /^>=(\d+)$/.exec(manifest.devEngines?.runtime.version) ?? []
    expect(textOf('README.md')).toContain(`on a fresh clone, with Node ${started} or newer`)
    expect(textOf('CONTRIBUTING.md')).toContain(`You need Node ${started} or newer`)
  })
})
