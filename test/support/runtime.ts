import { createRequire } from 'node:module'

const { default: JestRuntime } = createRequire(import.meta.url)('jest-runtime') as typeof import('jest-runtime')
type JestRuntime = InstanceType<typeof JestRuntime>

/** The modules that a runtime has loaded, by their addresses: those of tests and sources, and Jest's own. */
interface Loaded {
  readonly esModuleRegistry: Map<string, unknown>
  readonly internalModuleRegistry: Map<string, unknown>
}

const tests = new URL('..', import.meta.url).href
/** What reads environment variables when it is loaded: the address of GitHub. */
const github = /\/src\/github\/extras\.ts$|\/@actions\/github\//

/** By their environments. */
const runtimes = new WeakMap<object, JestRuntime>()

/**
 * What loads the modules of a test file. In an environment that has run another file, it loads again only those in `test/`,
 * so that hooks, helpers and limits of time belong to one file, the part of Jest that collects tests, and `github`.
 */
export default function Runtime(...options: ConstructorParameters<typeof JestRuntime>): JestRuntime {
  const [, environment] = options
  const runtime = runtimes.get(environment) ?? new JestRuntime(...options)
  runtimes.set(environment, runtime)
  // Jest has no interface for it.
  const { registries } = runtime as unknown as { readonly registries: Loaded }
  forget(registries.esModuleRegistry, (module) => module.startsWith(tests) || github.test(module))
  forget(registries.internalModuleRegistry, (module) => module.includes('jest-circus'))
  runtime.teardown = runtime.restoreAllMocks
  runtime.enterTestCode()
  return runtime
}

function forget(modules: Map<string, unknown>, isForgotten: (module: string) => boolean): void {
  for (const module of modules.keys()) if (isForgotten(module)) modules.delete(module)
}
