import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { Api, type KubeObject } from '../cluster/api.ts'
import { until } from '../cluster/command.ts'
import { state } from '../cluster/layout.ts'
import { kill, logPath, operatorPrefix, ownProcesses, start } from '../cluster/processes.ts'
import { buildOperator, moduleFolder } from './build.ts'
import type { Operator } from './operator.ts'

/**
 * Builds and starts operators that do not run yet, and continues those that were stopped. They end with the cluster.
 *
 * @param onStart called with each operator that was started, and the seconds that this took
 * @returns the API paths of the kinds that scenarios create, with `{}` for the namespace
 */
export async function startOperators(
  operators: readonly Operator[],
  kubeconfigPath: string,
  onStart: (name: string, seconds: number) => void,
): Promise<Record<string, string>> {
  const api = Api.fromFile(kubeconfigPath)
  const paths: Record<string, string> = {}
  for (const operator of operators.flatMap((each) => (each.beside ? [each.beside, each] : [each]))) {
    const started = performance.now()
    const program = await buildOperator(operator)
    const definitions = await definitionsOf(operator)
    for (const definition of definitions) await applyDefinition(api, definition)
    for (const [kind, path] of definitions.map(pathOf)) if (operator.kinds.includes(kind)) paths[kind] = path
    for (const [path, object] of Object.entries(operator.objects ?? {})) await api.apply(path, object)
    if (await continueProcess(operator.name, program)) continue

    await startProcess(operator, program, kubeconfigPath)
    onStart(operator.name, (performance.now() - started) / 1000)
  }
  return paths
}

/** Sends a signal to the process of an operator, such as SIGSTOP and SIGCONT. */
export function signalOperator(name: string, signal: NodeJS.Signals): void {
  for (const pid of processesOf(name)) process.kill(pid, signal)
}

function processesOf(name: string): number[] {
  return ownProcesses().flatMap(({ component, pid }) => (component === operatorPrefix + name ? [pid] : []))
}

/** Continues an operator that a killed run stopped; ends one of another build. Returns whether it runs. */
async function continueProcess(name: string, program: string): Promise<boolean> {
  const pids = processesOf(name)
  const isCurrent = pids.length > 0 && pids.every((pid) => readlinkSync(`/proc/${pid}/exe`) === program)
  if (isCurrent) signalOperator(name, 'SIGCONT')
  else await kill(pids)
  return isCurrent
}

async function startProcess({ name, args, started }: Operator, program: string, kubeconfigPath: string): Promise<void> {
  const component = operatorPrefix + name
  const folder = state('operators', name)
  mkdirSync(folder, { recursive: true })
  // The link has the state folder in its path, by which the cluster's processes are found.
  const link = state('operators', component)
  rmSync(link, { force: true })
  symlinkSync(program, link)
  rmSync(logPath(component), { force: true })
  start(component, link, args(kubeconfigPath), {
    PATH: process.env['PATH'],
    HOME: folder,
    TMPDIR: folder,
    KUBECONFIG: kubeconfigPath,
  })
  const log = () => (existsSync(logPath(component)) ? readFileSync(logPath(component), 'utf8') : '')
  await until(`${name} runs`, 60, () => started.test(log())).catch((error: Error) => {
    throw new Error(`${error.message}\n${log().split('\n').slice(-8).join('\n')}`)
  })
}

/** The CustomResourceDefinitions of an operator, without conversion webhooks: those are not started. */
async function definitionsOf({ module, definitions }: Operator): Promise<KubeObject[]> {
  const folder = await moduleFolder(module)
  const files = definitions
    .map((path) => join(folder, path))
    .flatMap((path) => (statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path]))
  return files
    .filter((path) => path.endsWith('.yaml'))
    .flatMap((path) => parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as KubeObject))
    .filter((object) => object?.kind === 'CustomResourceDefinition')
    .map(({ apiVersion, kind, metadata, spec }) => {
      const { conversion: _, ...rest } = spec
      return { apiVersion, kind, metadata, spec: rest } as KubeObject
    })
}

async function applyDefinition(api: Api, definition: KubeObject): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`
  await api.apply(path, definition)
  await until(`${definition.metadata.name} is served`, 30, async () => {
    const conditions: { type: string; status: string }[] = (await api.get(path))['status']?.conditions ?? []
    return conditions.some(({ type, status }) => type === 'Established' && status === 'True')
  })
}

/** Kind and API path of the stored version of a custom resource. */
function pathOf({ spec }: KubeObject): [string, string] {
  const { group, names, scope, versions } = spec
  const { name } = versions.find(({ storage }: { storage: boolean }) => storage)
  return [names.kind, `/apis/${group}/${name}/${scope === 'Namespaced' ? 'namespaces/{}/' : ''}${names.plural}`]
}
