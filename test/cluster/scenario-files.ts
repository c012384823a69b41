import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { KubeObject } from './api.ts'
import * as clusterStates from './cluster-states.ts'
import { all, type ClusterState, containerDiedSinceStart } from './cluster-states.ts'
import type { Fixture } from './fixture.ts'
import * as objects from './objects.ts'
import type { Scenario } from './scenario.ts'

/**
 * Scenarios as data, by name, in `scenarios/*.yaml`:
 *
 *     crash-loop:
 *       setup:
 *         - deployment web: { script: exit 3, spec: { replicas: 1 }, pod: { priorityClassName: high } }
 *       during:
 *         - wait: 3
 *       expect: failed crash-loop
 *       decidedBy: containerDied 3
 *
 * A step applies an object: by a function of `objects.ts`, with the fields of the container, or of the core group, as
 * `Secret database: { … }`, or any `object: { … }`. With `roll out` before it, the step waits for the Deployment. Other steps
 * are methods of the fixture. What is written under `defaults` holds for each scenario that does not say otherwise.
 */
interface Written extends Omit<Scenario, 'name' | 'setup' | 'during' | 'expect' | 'decidedBy'> {
  setup?: readonly Step[]
  during?: readonly Step[]
  expect: string | Scenario['expect']
  decidedBy?: string | readonly string[]
}

type Step = Readonly<Record<string, unknown>>

/**
 * The scenarios of a file.
 * @param code what of them is no data, by their names
 */
export function readScenarios(file: string, code: Readonly<Record<string, Partial<Scenario>>> = {}): Scenario[] {
  const text = readFileSync(join(import.meta.dirname, 'scenarios', `${file}.yaml`), 'utf8')
  const { defaults, ...scenarios } = load(text) as Readonly<Record<string, Written>>
  const unknown = Object.keys(code).filter((name) => !(name in scenarios))
  if (unknown.length > 0) throw new Error(`${file}.yaml has no ${unknown.join(', ')}`)
  return Object.entries(scenarios).map(([name, written]) => {
    const given = Object.entries({ ...defaults, ...written }).filter(([, value]) => value !== null)
    const { setup, during, expect, decidedBy, contains, ...others } = Object.fromEntries(given) as unknown as Written
    return {
      ...others,
      name,
      ...(setup && { setup: (fixture) => runSteps(setup, fixture) }),
      ...(during && { during: (fixture) => runSteps(during, fixture) }),
      expect: typeof expect === 'string' ? toExpectation(expect) : expect,
      ...(decidedBy && { decidedBy: toState(decidedBy) }),
      ...(contains && { contains: toTexts(contains) }),
      ...code[name],
    }
  })
}

function toExpectation(text: string): Scenario['expect'] {
  const [outcome = '', reason = ''] = text.split(' ')
  return { outcome, reason }
}

/** `pullRefused 'not found' 2` is a function of `cluster-states.ts` with its arguments; a list means all of them. */
function toState(text: string | readonly string[]): ClusterState {
  if (typeof text !== 'string') return all(...text.map(toState))
  if (text === 'containerDiedSinceStart') return containerDiedSinceStart
  const [name = '', ...words] = text.match(/'[^']*'|\S+/g) ?? []
  const values = words.map((word) => (/^\d+$/.test(word) ? Number(word) : word.replaceAll("'", '')))
  const state = new Map<string, unknown>(Object.entries(clusterStates)).get(name)
  if (typeof state !== 'function') throw new Error(`cluster-states.ts has no ${name}`)
  return state(...values)
}

/** `/text/` is a regular expression. */
function toTexts(contains: NonNullable<Scenario['contains']>): Scenario['contains'] {
  const toPattern = (text: string | RegExp) => {
    const [, source, flags] = /^\/(.*)\/([a-z]*)$/s.exec(String(text)) ?? []
    return source === undefined ? text : new RegExp(source, flags)
  }
  return Object.fromEntries(Object.entries(contains).map(([part, texts]) => [part, texts.map(toPattern)]))
}

async function runSteps(steps: readonly Step[], fixture: Fixture): Promise<void> {
  for (const step of steps)
    for (const [words, value] of Object.entries(step)) await runStep(words.split(' '), value as never, fixture)
}

/** What a step says of an object, or the only argument of a method. */
type Value = Readonly<Record<string, object>> & string & number

async function runStep([verb = '', ...names]: string[], value: Value, fixture: Fixture): Promise<unknown> {
  const [kind = '', name = ''] = names
  switch (verb) {
    case 'roll':
      return fixture.rollOut(toObject(names.slice(1), value))
    case 'delete':
      return fixture.delete(kind, name, value ?? {})
    case 'patch':
      return fixture.patch(kind, name, value)
    case 'wait':
      return fixture.wait(value)
    case 'until':
      return fixture.until(value, toState(names.join(' ')))
    case 'runs':
      return fixture.runningPod(objects.imageName(value))
    case 'signal':
      return fixture.signal(value as string as NodeJS.Signals)
    case 'decided':
      return fixture.markDecided(value ?? 0)
    default:
      return fixture.apply(toObject([verb, ...names], value))
  }
}

/** The fields of a container, and those of its workload and its pod. */
interface Fields extends objects.ContainerOptions {
  spec?: object
  pod?: object
}

/** The object of a step: `deployment web`, `job migrate`, `Secret database`, `object`. */
function toObject([kind = '', name = '']: readonly string[], value: Fields | null): KubeObject {
  const { spec, pod, ...options } = value ?? {}
  const workload = { ...spec, ...(pod && objects.template(name, options, pod)) }
  switch (kind) {
    case 'object':
      return value as object as KubeObject
    case 'deployment':
      return objects.deployment(name, options, workload)
    case 'replicaSet':
      return objects.replicaSet(name, options, workload)
    case 'statefulSet':
      return objects.statefulSet(name, options, workload)
    case 'daemonSet':
      return objects.daemonSet(name, options, workload)
    case 'pod':
      return objects.barePod(name, options, spec)
    case 'job':
      return objects.scriptJob(name, options.script ?? '', spec, pod)
    case 'service':
      return objects.appService(name, value ?? {})
    case 'autoscaler':
      return objects.autoscaler(name)
    default:
      return objects.coreObject(kind, name, value ?? {})
  }
}
