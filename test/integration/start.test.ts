import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDeployment, createPod, createReplicaSet, createWorkloads } from '../../scripts/bench-objects.ts'
import { startApiServer } from '../support/api-server.ts'
import { programPath } from '../support/program.ts'
import { startAction } from '../support/runner.ts'

const folder = mkdtempSync(join(tmpdir(), 'start-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Gates a finished rollout in a process that runs a module first. */
async function gateFinished(firstModule: string, raw: Readonly<Record<string, string>> = {}) {
  const server = await startApiServer()
  try {
    const time = new Date(Date.now() - 600_000).toISOString()
    for (const workload of createWorkloads(1, 1)) {
      server.apply(createDeployment(workload, 1, time))
      server.apply(createReplicaSet(workload, time))
      server.apply(createPod(workload, 0, 'ready', time))
    }
    const env = { NO_COLOR: '1', NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(firstModule)}"` }
    const inputs = { kubeconfig: server.kubeconfig(), resources: 'deployment/app-0', namespace: 'team-0', ...raw }
    const { exitCode, log } = await startAction(programPath('index.js'), folder, inputs, { env }).ended
    return { exitCode, log, watches: server.requests.filter(({ query }) => query.has('watch')) }
  } finally {
    await server.close()
  }
}

test('a finished rollout opens no watch and loads no Node.js module that it does not need', async () => {
  const listed = "process.on('exit', () => console.log(process.moduleLoadList.join('\\n')))"
  const { exitCode, log, watches } = await gateFinished(listed)
  expect(exitCode).toBe(0)
  expect(watches).toEqual([])
  expect(log).toContain('NativeModule https')
  for (const name of ['zlib', 'child_process', 'http2', 'vm']) expect(log).not.toContain(`NativeModule ${name}\n`)
})

test('the action exits after its last line even if a handle is still open', async () => {
  const { exitCode, log } = await gateFinished('setInterval(() => {}, 1 << 30)')
  expect(exitCode).toBe(0)
  expect(log).toMatch(/Rollout ready.*\n$/)
})

/** The paths of the files that the gate of a finished rollout loads. */
async function loadedFiles(inputs: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const listing = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { console.log('loaded ' + url); return next(url, context) } })`
  const { log } = await gateFinished(listing, inputs)
  return [...log.matchAll(/^loaded (file:.*)$/gm)].map(([, url = '']) => fileURLToPath(url))
}

test('the gate of a finished rollout loads two bundles within their size limits', async () => {
  const paths = await loadedFiles()
  expect(paths.slice(0, 3).map((path) => basename(path))).toEqual(['index.js', 'node-version.js', 'entrypoints.js'])
  expect(paths.map((path) => basename(path))).not.toContain('explain.chunk.js')
  // Not minified, in KiB.
  const sizes = paths.map((path) => statSync(path).size / 1024)
  expect(sizes[2]).toBeLessThanOrEqual(560)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(1010)
})

/** A text of each file that is loaded only for `http-checks` and `hold`. */
const textsOfChecks = [
  'is no method of HTTP', // plan/checks.ts
  'is not gated. Name it in resources too', // gate/after-ready.ts
  'was not asked: no pod is wanted', // lifecycle/answers.ts
  'do not permit to forward ports of pods', // run/http-checker.ts
]

test.each([
  ['a gate without http-checks and hold loads none of their code', {}, []],
  ['a gate with a recording alone loads none of their code', { record: join(folder, 'gate.ndjson') }, []],
  ['a gate with a hold loads what judges it', { hold: '1s' }, textsOfChecks.slice(0, 3)],
  ['a gate with http-checks asks', { 'http-checks': 'deployment/web GET /' }, textsOfChecks],
])('%s', async (_, inputs, expected) => {
  const codes = (await loadedFiles(inputs)).map((path) => readFileSync(path, 'utf8'))
  expect(textsOfChecks.filter((text) => codes.some((code) => code.includes(text)))).toEqual(expected)
})
