import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { rolledOut, unobserved } from '../cli/objects.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { startAction } from '../support/runner.ts'

const web = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }
const token = 'sesame-open-0123456789'

/** Runs a line of bash, in which `gate` is the command line. Prints the exit code of each part of its pipe. */
async function bash(line: string) {
  const child = spawn('bash', ['-c', `gate() { '${process.execPath}' '${programPath('cli.js')}' "$@"; }; ${line}`], {
    env: { PATH: process.env['PATH'], KUBECONFIG_DATA: server.kubeconfig({ token, namespace: 'shop' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, stdout, stderr }
}

const describeOnUnix = process.platform === 'win32' ? describe.skip : describe
const flags = '--kubeconfig "$KUBECONFIG_DATA" --stall-timeout 1s'
const codes = 'echo "codes $' + '{PIPESTATUS[*]}"'

describeOnUnix('the command line exits with the code of the verdict', () => {
  test('if head closes its pipe after the first line of a rollout that fails', async () => {
    server.apply(unobserved())
    const [piped, failing] = await Promise.all([
      bash(`gate wait deployment/web ${flags} | head -n 1; ${codes}`),
      bash(`set -o pipefail; gate wait deployment/web ${flags} | grep -q Rollout`),
    ])
    expect(piped.stdout).toContain('codes 1 0')
    expect(failing.code).toBe(1)
  })

  test('if head closes its pipe after the first line of a rollout that becomes ready later', async () => {
    server.apply(unobserved())
    const ended = bash(`gate wait deployment/web --kubeconfig "$KUBECONFIG_DATA" | head -n 1; ${codes}`)
    await server.until(({ openWatches }) => openWatches.length > 2)
    server.apply(rolledOut())
    expect((await ended).stdout).toContain('codes 0 0')
  })

  test('if log and report share the pipe that is closed', async () => {
    server.apply(unobserved())
    const { stdout } = await bash(`gate wait deployment/web --json ${flags} 2>&1 | head -n 1; ${codes}`)
    expect(stdout).toContain('codes 1 0')
  })

  test.each(['>/dev/full', '>&-', '2>/dev/full >/dev/full', '2>&- >&-'])(
    'with the redirection %s',
    async (redirection) => {
      server.apply(rolledOut())
      server.apply(unobserved('api'))
      const run = (name: string) => bash(`gate wait deployment/${name} ${flags} ${redirection}`)
      const ended = await Promise.all([run('web'), run('api')])
      expect(ended.map(({ code }) => code)).toEqual([0, 1])
    },
  )

  test('while an output that cannot be written is reported once', async () => {
    server.apply(rolledOut())
    const { stderr } = await bash(`gate wait deployment/web ${flags} >/dev/full`)
    expect(stderr.match(/cannot be written/g)).toHaveLength(1)
    expect(stderr).toContain('ENOSPC')
  })
})

describeOnUnix('if its pipe is closed,', () => {
  test.each(['status', 'changes', 'trace --until-ready'])(
    'the view %s exits as if it were interrupted',
    async (view) => {
      server.apply(unobserved())
      let isOver = false
      const ended = bash(`gate ${view} deployment/web --kubeconfig "$KUBECONFIG_DATA" | head -n 1; ${codes}`)
      void ended.finally(() => {
        isOver = true
      })
      await server.until(({ openWatches }) => openWatches.length > 0)
      // A view notices the closed pipe at its next output.
      for (let generation = 3; !isOver && generation < 200; generation++) {
        server.patch(web, { spec: { replicas: generation }, status: { observedGeneration: generation } })
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      expect((await ended).stdout).toContain('codes 130 0')
    },
  )
})

describe('the action, if its log is closed while it runs,', () => {
  test.each([
    ['fails', unobserved, 1, 'stalled'],
    ['passes', rolledOut, 0, 'ready'],
  ] as const)('%s with the outputs of its verdict', async (_, last, code, outcome) => {
    server.apply(unobserved())
    const inputs = { kubeconfig: server.kubeconfig({ token }), namespace: 'shop', resources: 'deployment/web' }
    const run = startAction(programPath('index.js'), folder, { ...inputs, 'stall-timeout': '1s' })
    await run.watching
    run.process.stdout?.destroy()
    run.process.stderr?.destroy()
    server.apply(last())
    const { exitCode, outputs } = await run.ended
    expect({ exitCode, outcome: outputs['outcome'] }).toEqual({ exitCode: code, outcome })
    expect(existsSync(outputs['report'] ?? '')).toBe(true)
    expect(readdirSync(folder)).toContain('summary.md')
  })
})
