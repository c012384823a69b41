import { runPost as post, runAction as run } from './action.ts'

/**
 * Ignores errors of the output, such as a closed pipe or a full disk: without a listener, they would end the process before
 * the verdict. Also ignores `NODE_TLS_REJECT_UNAUTHORIZED=0`, with which Node would verify no certificate at all: only the
 * kubeconfig may turn off the verification, for its cluster.
 */
function prepareProcess(): void {
  const variable = 'NODE_TLS_REJECT_UNAUTHORIZED'
  const isUnverified = process.env[variable] === '0'
  delete process.env[variable]
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  if (isUnverified)
    process.stderr.write(
      `${variable}=0 is ignored. For a cluster without a certificate, set insecure-skip-tls-verify in the kubeconfig.\n`,
    )
}

/** Gates a rollout. This file is one bundle, which the launchers `index.ts`, `merge.ts`, `post.ts` and `cli.ts` load. */
export async function runAction(): Promise<void> {
  prepareProcess()
  limitHeap()
  await run('gate')
  exitOnceWritten()
}

/** Merges the reports of gates. */
export async function runMerge(): Promise<void> {
  prepareProcess()
  await run('merge')
}

/** Closes what the action left open on GitHub. */
export async function runPost(): Promise<void> {
  prepareProcess()
  await post()
}

/** Runs the command line, which the action does not load. */
export async function runCli(): Promise<void> {
  prepareProcess()
  limitHeap()
  await (await import('./cli/main.ts')).runCli()
}

/** Exits once all output is written. Otherwise, Node would free the memory first, and wait for what is still open. */
function exitOnceWritten(): void {
  process.stderr.write('', () => process.stdout.write('', () => process.exit()))
}

/**
 * The maximum size of the young generation of the heap: in a larger one, garbage would stay longer in memory, and
 * collecting it would take no less time.
 */
const maxYoungBytes = 8 << 20

/** By how much the old generation may grow until V8 collects it; by default, it may become four times as large. */
const oldGrowthPercent = 30

/**
 * Stops the growth of the heap's young generation, which V8 would double up to 128 MB while many objects arrive, and
 * limits that of the old generation: each version of a pod that is replaced is garbage there. A running process cannot set
 * the maximum of the young generation, only the factor of the growth. V8 may also shrink it, so a timer sets the factor.
 */
function limitHeap(): void {
  const checkEveryMs = 250
  setInterval(() => {
    // Loaded here, because the gate of a finished rollout ends before the first tick.
    const { getHeapSpaceStatistics, setFlagsFromString } = process.getBuiltinModule('node:v8')
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    setFlagsFromString(`--semi-space-growth-factor=${(young?.space_size ?? 0) < maxYoungBytes ? 2 : 1}`)
    setFlagsFromString(`--heap-growing-percent=${oldGrowthPercent}`)
  }, checkEveryMs).unref()
}
