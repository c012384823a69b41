import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { guessResource } from '../support/resources.ts'

/** Gates an object without a status. Returns the outcome, and the kinds in the recording. */
async function gateWidget(status: boolean): Promise<{ reason: string; outcome: string; kinds: unknown }> {
  server.discovery.serve({ ...guessResource('example.com/v1', 'Widget'), status })
  server.apply({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'shop' }, spec: {} })
  const record = join(folder, 'gate.ndjson')
  const inputs = { resources: 'widget/w', namespace: 'shop', record, 'stall-timeout': '1s' }
  const clock = new EventLoopClock(Date.now(), 20)
  const { outcome, reason } = await gateInVirtualTime({ kubeconfig: server.kubeconfig(), ...inputs }, clock)
  const lines = readFileSync(record, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { outcome, reason, kinds: lines.find(({ type }) => type === 'DISCOVERY')?.resources }
}

describe('a kind in discovery', () => {
  test('is recorded, and makes the gate wait for a status that it declares', async () => {
    expect(await gateWidget(true)).toMatchObject({
      outcome: 'stalled',
      reason: 'not-reconciled',
      kinds: [{ group: 'example.com', kind: 'Widget', status: true }],
    })
  })

  test('lets the gate accept an object without a status if it declares none', async () => {
    expect(await gateWidget(false)).toMatchObject({ outcome: 'ready', kinds: [{ kind: 'Widget', status: false }] })
  })
})
