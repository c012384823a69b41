import { startOnCurrentNode, whyTooOld } from '../src/node-version.ts'

describe('the Node that is needed', () => {
  it.each(['16.20.2', '20.20.2', '22.18.0', '21.99.0'])(
    '%s is too old, and the user is told what is needed',
    (version) => {
      expect(whyTooOld(version)).toMatch(`Rollout Gate needs Node 22.19 or newer (this is v${version}). Update Node`)
    },
  )

  it.each(['22.19.0', '23.0.0', '24.1.0'])('%s will do', (version) => {
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
