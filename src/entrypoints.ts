import { runPost as post, runAction as run } from './action.ts'

/* The functions that the launchers `index.ts`, `merge.ts`, `post.ts` and `cli.ts` call: one bundle. */

/**
 * Ignores errors of the output, such as a closed pipe: they would end the process before the verdict. Ignores
 * `NODE_TLS_REJECT_UNAUTHORIZED=0`: Node would verify no certificates, but only the kubeconfig may turn this off, for
 * its cluster.
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

/** Gates a rollout. */
export async function runAction(): Promise<void> {
  prepareProcess()
  limitHeap()
  await run('gate')
  // Exits once all output is written. Otherwise Node would first free its memory, and wait for open connections.
  process.stderr.write('', () => process.stdout.write('', () => process.exit()))
}

/** Merges the reports of gates. */
export async function runMerge(): Promise<void> {
  prepareProcess()
  await run('merge')
}

/** Closes the objects on GitHub that the action left open. */
export async function runPost(): Promise<void> {
  prepareProcess()
  await post()
}

/** Runs the command line. The action never loads its modules. */
export async function runCli(): Promise<void> {
  prepareProcess()
  limitHeap()
  await (await import('./cli/main.ts')).runCli()
}

/** The maximum size of the heap's young generation. A larger one keeps garbage longer, and collects it no faster. */
const maxYoungBytes = 8 << 20

/** The growth of the old generation after which V8 collects garbage. By default, it may become four times as large. */
const oldGrowthPercent = 30

/**
 * Limits the memory of a long watch, in which each replaced version of an object is garbage. V8 would let the young
 * generation grow to 128 MB, and the old generation to four times its size. A running process can set only the factors
 * of the growth. A timer sets them, because V8 may also shrink the young generation.
 */
function limitHeap(): void {
  const checkEveryMs = 250
  setInterval(() => {
    // Loaded at the first tick, before which the gate of a finished rollout has ended.
    const { getHeapSpaceStatistics, setFlagsFromString } = process.getBuiltinModule('node:v8')
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    setFlagsFromString(`--semi-space-growth-factor=${(young?.space_size ?? 0) < maxYoungBytes ? 2 : 1}`)
    setFlagsFromString(`--heap-growing-percent=${oldGrowthPercent}`)
  }, checkEveryMs).unref()
}
