import { execFileSync, spawn } from 'node:child_process'

/** Result of `kubectl rollout status` for the same rollout. */
export interface KubectlResult {
  /** Undefined if kubectl was stopped because it still waited after the end of the action. */
  exitCode: number | undefined
  /** Its last line of output. */
  text: string
  /** Milliseconds since 1970. */
  endedAt: number
}

/** Whether this machine has kubectl. */
export function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts `kubectl rollout status`. `result` resolves when kubectl ends or after `stop`. */
export function rolloutStatus(
  kubeconfigPath: string,
  namespace: string,
  reference: string,
): { result: Promise<KubectlResult>; stop: () => void } {
  const args = [
    '--kubeconfig',
    kubeconfigPath,
    '--namespace',
    namespace,
    'rollout',
    'status',
    reference,
    '--timeout=300s',
  ]
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  let wasStopped = false
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (data) => (text += data))
  const result = new Promise<KubectlResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => {
      const code = wasStopped ? undefined : (exitCode ?? undefined)
      resolve({ exitCode: code, text: text.trim().split('\n').at(-1) ?? '', endedAt: Date.now() })
    })
  })
  const stop = () => {
    wasStopped = true
    child.kill()
  }
  return { result, stop }
}
