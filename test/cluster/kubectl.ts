import { execFileSync, spawn } from 'node:child_process'

/** How `kubectl rollout status` judged the same rollout. */
export interface KubectlAnswer {
  /** Its exit code; nothing when it had not decided when the action ended, and was ended as well. */
  exitCode: number | undefined
  /** The last line that it printed. */
  text: string
  /** When it ended, in milliseconds since 1970. */
  endedAt: number
}

/** Whether there is a kubectl to compare with. */
export function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts `kubectl rollout status`. The answer's promise is kept when it ended or `stop` was called. */
export function rolloutStatus(
  kubeconfigPath: string,
  namespace: string,
  reference: string,
): { answer: Promise<KubectlAnswer>; stop: () => void } {
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
  const answer = new Promise<KubectlAnswer>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => {
      const decided = wasStopped ? undefined : (exitCode ?? undefined)
      resolve({ exitCode: decided, text: text.trim().split('\n').at(-1) ?? '', endedAt: Date.now() })
    })
  })
  const stop = () => {
    wasStopped = true
    child.kill()
  }
  return { answer, stop }
}
