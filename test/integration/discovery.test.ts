import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiResource } from '../../src/cluster/feed.ts'
import { startApiServer } from '../support/api-server.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'
import { gateInVirtualTime } from '../support/gate-rollout.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'

/** Gates an object without a status. Returns the outcome, and the kinds in the recording. */
async function gateWidget(status: boolean): Promise<{ reason: string; outcome: string; kinds: unknown }> {
  const folder = mkdtempSync(join(tmpdir(), 'discovery-'))
  const widgets: ApiResource = {
    group: 'example.com',
    version: 'v1',
    kind: 'Widget',
    plural: 'widgets',
    namespaced: true,
    status,
    verbs: ['get', 'list', 'watch'],
  }
  const server = await startApiServer({ resources: [...BUILT_IN_RESOURCES, widgets] })
  try {
    server.apply({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'shop' }, spec: {} })
    const record = join(folder, 'gate.ndjson')
    const inputs = {
      kubeconfig: server.kubeconfig(),
      resources: 'widget/w',
      namespace: 'shop',
      record,
      'stall-timeout': '1s',
    }
    const { outcome, reason } = await gateInVirtualTime(inputs, new EventLoopClock(Date.now(), 20))
    const lines = readFileSync(record, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const kinds = lines.find(({ type }) => type === 'DISCOVERY')?.resources
    return { outcome, reason, kinds }
  } finally {
    await server.close()
    rmSync(folder, { recursive: true })
  }
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
