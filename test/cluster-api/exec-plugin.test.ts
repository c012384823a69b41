import { type ExecPlugin, runExecPlugin } from '../../src/cluster/exec-plugin.ts'
import { UserError } from '../../src/errors.ts'

/** A plugin that is this JavaScript. */
const plugin = (script: string, rest: Partial<ExecPlugin> = {}): ExecPlugin => ({
  command: process.execPath,
  args: ['-e', script],
  apiVersion: 'client.authentication.k8s.io/v1beta1',
  ...rest,
})

const run = (exec: ExecPlugin, env: NodeJS.ProcessEnv = {}, signal = new AbortController().signal) =>
  runExecPlugin(exec, { server: 'https://api.example' }, env, signal)

async function refusal(exec: ExecPlugin): Promise<UserError> {
  const error = await Promise.resolve()
    .then(() => run(exec))
    .catch((thrown) => thrown)
  if (error instanceof UserError) return error
  throw new Error('the plugin was believed')
}

const print = (status: object) =>
  `console.log(JSON.stringify({kind: 'ExecCredential', status: ${JSON.stringify(status)}}))`

test('a credential plugin may return a token with its expiry', async () => {
  const status = { token: 'fresh', expirationTimestamp: '2030-01-01T00:00:00Z' }
  expect(await run(plugin(print(status)))).toEqual({ token: 'fresh', expiresAt: Date.UTC(2030, 0, 1) })
})

test('a credential plugin may return a client certificate', async () => {
  const status = { clientCertificateData: 'cert', clientKeyData: 'key' }
  expect(await run(plugin(print(status)))).toEqual({ certificate: 'cert', key: 'key' })
})

test('a credential plugin gets the protocol version, interactive: false and the cluster if required', async () => {
  const echo = 'console.log(JSON.stringify({status: {token: process.env.KUBERNETES_EXEC_INFO}}))'
  const info = async (exec: ExecPlugin) => JSON.parse((await run(exec)).token ?? '')
  expect(await info(plugin(echo))).toEqual({
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    kind: 'ExecCredential',
    spec: { interactive: false },
  })
  expect(await info(plugin(echo, { provideClusterInfo: true }))).toMatchObject({
    spec: { cluster: { server: 'https://api.example' } },
  })
})

test('a credential plugin gets no inputs of the action and no GitHub tokens', async () => {
  const echo = 'console.log(JSON.stringify({status: {token: JSON.stringify(process.env)}}))'
  const hidden = ['INPUT_KUBECONFIG', 'INPUT_GITHUB-TOKEN', 'GITHUB_TOKEN', 'GH_TOKEN', 'ACTIONS_RUNTIME_TOKEN']
  const env = { A: 'job', B: 'job', ...Object.fromEntries(hidden.map((name) => [name, 'secret'])) }
  const { token = '' } = await run(plugin(echo, { env: [{ name: 'B', value: 'plugin' }] }), env)
  expect(JSON.parse(token)).toMatchObject({ A: 'job', B: 'plugin' })
  expect(token).not.toContain('secret')
})

test('a running credential plugin is killed when the connection is closed', async () => {
  const closing = new AbortController()
  const ended = run(plugin('setInterval(() => {}, 1000)'), {}, closing.signal)
  closing.abort(new Error('closed'))
  await expect(ended).rejects.toThrow('closed')
})

test('a credential plugin that reads its input gets an end of file', async () => {
  const asks = "process.stdin.on('end', () => { console.error('no answer'); process.exit(1) }).resume()"
  expect((await refusal(plugin(asks))).message).toContain('failed with exit code 1: no answer')
})

test('the error about a missing credential plugin contains its name and the hint of the kubeconfig', async () => {
  const error = await refusal({ command: 'no-such-auth-plugin', installHint: 'Install it:\n  see the manual' })
  expect(error.reason).toBe('input-invalid')
  expect(error.message).toContain('"no-such-auth-plugin", which is not installed on this machine')
  expect(error.message).toContain("The kubeconfig's hint: Install it: see the manual")
})

test('the error about a failed credential plugin ends with one full stop', async () => {
  const error = await refusal(plugin("console.error('No region is specified.'); process.exit(1)"))
  expect(error.message).toContain('exit code 1: No region is specified. Log in to the cloud')
})

test('the error about a failed credential plugin contains the end of its output', async () => {
  const error = await refusal(
    plugin("console.error('x'.repeat(9999)); console.error('Unable to locate credentials'); process.exit(253)"),
  )
  expect(error.reason).toBe('credentials-expired')
  expect(error.message).toContain('failed with exit code 253')
  expect(error.message).toContain('Unable to locate credentials')
  expect(error.message.length).toBeLessThan(900)
})

test('the output of a failed credential plugin is cut only at its start', async () => {
  const error = await refusal(plugin("console.error('refused:\\nlogin with ' + 'x1'.repeat(999)); process.exit(1)"))
  expect(error.message).toMatch(/exit code 1: login with (?:x1)+x?…\. Log in/)
})

test('a credential plugin that needs a terminal is rejected at once', async () => {
  expect((await refusal(plugin('', { interactiveMode: 'Always' }))).message).toContain('requires a terminal')
})

test('invalid output of a credential plugin is not quoted', async () => {
  expect((await refusal(plugin("console.log('token: hunter2')"))).message).not.toContain('hunter2')
  expect((await refusal(plugin(print({})))).message).toContain('neither a token nor a certificate')
})
