import { readFileSync } from 'node:fs'
import { constants, createContext } from 'node:vm'
import { TestEnvironment } from 'jest-environment-node'

type Options = ConstructorParameters<typeof TestEnvironment>

/**
 * Jest's environment with an ordinary global object. Jest's own global object is a proxy: there, each `Map`, `Date` or
 * `undefined` in a source costs 0.3 µs, and most tests took a third more CPU time.
 */
class OrdinaryGlobals extends TestEnvironment {
  readonly #names: ReadonlySet<string | symbol>
  #startedAt = 0

  constructor(...[options, context]: Options) {
    super(options, context)
    const global = createContext(constants.DONT_CONTEXTIFY) as typeof this.global
    // As in Jest's own: Node's functions return these types, and each environment has its own variables.
    Object.assign(global, { global, Buffer, ArrayBuffer, Uint8Array, process: this.global.process })
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
      if (name in global) continue
      const { get, enumerable = false } = descriptor
      const bound = { get: () => get?.call(globalThis), enumerable, configurable: true }
      Object.defineProperty(global, name, get === undefined ? descriptor : bound)
    }
    const { constructor: FakeTimers } = this.fakeTimersModern as object
    this.fakeTimersModern = Reflect.construct(FakeTimers, [{ config: options.projectConfig, global }])
    this.context = global
    this.global = global
    this.#names = new Set(Reflect.ownKeys(global))
  }

  override async setup(): Promise<void> {
    this.#startedAt = performance.now()
  }

  /** Leaves the global object as the next test file expects it. */
  override async teardown(): Promise<void> {
    this.fakeTimersModern?.useRealTimers()
    for (const name of Reflect.ownKeys(this.global))
      if (!this.#names.has(name)) Reflect.deleteProperty(this.global, name)
    if (shared === this && performance.now() - this.#startedAt > longMs) shared = undefined
  }
}

let shared: OrdinaryGlobals | undefined

/**
 * After a file that ran for longer, the next one has a new environment: the clock of the sources takes 10 s in which a test
 * leaves it no time for a suspension of the machine, and is late from then on.
 */
const longMs = 5_000

/**
 * The environment of a test file. All files of a worker have the same, because Jest loads all sources and libraries again in
 * a new one, which costs 0.1 s a file: so a source keeps no state that a test could notice. A file that replaces modules has
 * its own. So has each file if coverage is counted, and in watch mode, where sources change.
 */
export default function Environment(...options: Options): OrdinaryGlobals {
  const [{ globalConfig }, { testPath }] = options
  const { collectCoverage, watch, watchAll } = globalConfig
  if (collectCoverage || watch || watchAll || readFileSync(testPath, 'utf8').includes('mockModule'))
    return new OrdinaryGlobals(...options)
  shared ??= new OrdinaryGlobals(...options)
  return shared
}
