import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Semaphore } from '../../src/cluster/clock.ts'
import { buildKubectl, installHelm } from '../cluster/build.ts'
import { attempt, runScript } from '../cluster/command.ts'
import { withTestCluster } from '../cluster/test-cluster.ts'
import { installAct } from './act.ts'
import { runnerMajor } from './node-versions.ts'
import { scenarios } from './scenarios.ts'
import { type Check, type Programs, withWorkflowFixture } from './workflow-fixture.ts'

/** More scenarios at once are not faster on two cores, and the gates' requests to GitHub run out of time. */
const atOnce = 6

/**
 * Runs workflows with this action through act against the test cluster:
 *
 *     npm run test:act [NAME…]
 */
await runScript(async () => {
  const chosen = choose(process.argv.slice(2))
  const programs = await installPrograms()
  await withTestCluster(async ({ api, kubeconfig, folder }) => {
    const runScenario = async (name: string): Promise<Result[]> => {
      const results: Result[] = []
      const own = join(folder, name)
      mkdirSync(own)
      await withWorkflowFixture(api, kubeconfig, own, programs, async (fixture) =>
        scenarios[name]?.(fixture, checkInto(results)),
      ).catch((error: Error) => results.push({ behaviour: 'runs to its end', problem: error.message }))
      print(name, results)
      return results
    }
    const turns = new Semaphore(atOnce)
    const all = (await Promise.all(chosen.map((name) => turns.run(() => runScenario(name))))).flat()
    const failed = all.filter(({ problem }) => problem !== undefined).length
    if (failed > 0) process.exitCode = 1
    console.log(`${all.length - failed} passed, ${failed} failed`)
  })
})

interface Result {
  readonly behaviour: string
  /** The error message; undefined if the check passed. */
  readonly problem: string | undefined
}

function checkInto(results: Result[]): Check {
  return async (behaviour, holds) => {
    const problem = await Promise.resolve()
      .then(holds)
      .then(
        () => undefined,
        (error: Error) => error.message,
      )
    results.push({ behaviour, problem })
  }
}

function print(name: string, results: readonly Result[]): void {
  console.log(name)
  for (const { behaviour, problem } of results) {
    console.log(`  ${problem === undefined ? '✓' : '✗'} ${behaviour}`)
    if (problem !== undefined) console.log(problem.replaceAll(/^/gm, '      '))
  }
}

function choose(names: readonly string[]): string[] {
  const known = Object.keys(scenarios)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`no scenario ${unknown.join(', ')}; there are: ${known.join(', ')}`)
  return names.length > 0 ? [...names] : known
}

/** Installs act, and kubectl and Helm unless the machine has them. */
async function installPrograms(): Promise<Programs> {
  const node = process.execPath
  if (process.versions.node.split('.')[0] !== runnerMajor()) {
    throw new Error(`action.yml needs Node ${runnerMajor()}, but this is Node ${process.versions.node}`)
  }
  const installed = async (name: string) => (await attempt('sh', ['-c', `command -v ${name}`])).trim()
  return {
    node,
    act: await installAct(),
    kubectl: (await installed('kubectl')) || (await buildKubectl()),
    helm: (await installed('helm')) || (await installHelm()),
  }
}
