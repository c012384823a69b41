import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDeployment, createPod, createReplicaSet, createWorkloads } from '../../scripts/bench-objects.ts'
import { startApiServer } from '../support/api-server.ts'
import { programPath } from '../support/program.ts'
import { startAction } from '../support/runner.ts'

test('a finished rollout opens no watch, and loads no module of Node that only others need', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'start-'))
  const server = await startApiServer()
  try {
    const time = new Date(Date.now() - 600_000).toISOString()
    for (const workload of createWorkloads(1, 1)) {
      server.apply(createDeployment(workload, 1, time))
      server.apply(createReplicaSet(workload, time))
      server.apply(createPod(workload, 0, 'ready', time))
    }
    const loaded = "process.on('exit', () => console.log(process.moduleLoadList.join('\\n')))"
    const env = { NO_COLOR: '1', NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(loaded)}"` }
    const inputs = { kubeconfig: server.kubeconfig(), resources: 'deployment/app-0', namespace: 'team-0' }
    const { exitCode, log } = await startAction(programPath('index.js'), folder, inputs, { env }).ended
    expect(exitCode).toBe(0)
    expect(server.requests.filter(({ query }) => query.has('watch'))).toEqual([])
    expect(log).toContain('NativeModule https')
    for (const name of ['zlib', 'child_process', 'http2', 'vm']) expect(log).not.toContain(`NativeModule ${name}\n`)
  } finally {
    await server.close()
    rmSync(folder, { recursive: true })
  }
})
