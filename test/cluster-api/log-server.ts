import { Client } from '../../src/cluster/client.ts'
import { systemClock } from '../../src/cluster/clock.ts'
import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'

/** The container whose log is asked for. */
export const ref = { namespace: 'shop', pod: 'web', container: 'app' }

/** A server that has one pod, and a client of it; both end with the test that started them. */
export async function startWithPod(
  endings: (() => Promise<void> | void)[],
): Promise<{ server: ApiServer; client: Client }> {
  const server = await startApiServer()
  const load = () => loadKubeconfig({ kubeconfig: server.kubeconfig() })
  const client = new Client(load(), load, { clock: systemClock, secrets: new Secrets(), userAgent: 'test', env: {} })
  endings.push(
    () => server.close(),
    () => client.close(),
  )
  server.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: ref.pod, namespace: ref.namespace },
    spec: { containers: [{ name: ref.container }] },
  })
  return { server, client }
}
