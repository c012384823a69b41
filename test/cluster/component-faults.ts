import { setTimeout } from 'node:timers/promises'
import type { Api } from './api.ts'
import { until } from './command.ts'
import { killComponent, suspendComponent } from './processes.ts'

/** A fault of a component that all scenarios use. */
export interface ComponentFault {
  /** Words with hyphens; the names of its scenarios begin with them. */
  readonly name: string
  /** For docs/reliability.md. */
  readonly title: string
  /** Resolves when the component works again. */
  readonly inject: (api: Api) => Promise<void>
}

const answers = (api: Api) =>
  until('the API server answers', 60, () => api.find('/api/v1/namespaces/kube-system').then(Boolean, () => false))

/** Kills a component and starts it again after this many seconds. Its data are kept. */
function killed(component: string, seconds: number): ComponentFault['inject'] {
  return async (api) => {
    const startAgain = await killComponent(component)
    try {
      await setTimeout(seconds * 1000)
    } finally {
      startAgain()
    }
    await answers(api)
  }
}

export const apiServerKilled: ComponentFault = {
  name: 'api-server-killed',
  title: 'The API server is killed, and restarted after 12 s.',
  inject: killed('kube-apiserver', 12),
}

export const etcdSuspended: ComponentFault = {
  name: 'etcd-suspended',
  title: 'etcd is suspended for 30 s.',
  inject: async (api) => {
    const resume = suspendComponent('etcd')
    try {
      await setTimeout(30_000)
    } finally {
      resume()
    }
    await answers(api)
  },
}

export const kubeletKilled: ComponentFault = {
  name: 'kubelet-killed',
  title: 'The kubelet is killed, and restarted after 25 s.',
  inject: killed('kubelet', 25),
}

/** The node controller marks a node as not ready when its kubelet has not reported for 40 s. */
export const kubeletLost: ComponentFault = {
  name: 'kubelet-lost',
  title: 'The kubelet is killed, and restarted after 80 s.',
  inject: killed('kubelet', 80),
}

/** A fault that several scenarios share. It begins when each of them has reached it or has ended. */
export class SharedFault {
  readonly #inject: () => Promise<void>
  readonly #over = Promise.withResolvers<void>()
  #awaited: number

  /** @param scenarios how many scenarios call `join` */
  constructor(inject: () => Promise<void>, scenarios: number) {
    this.#inject = inject
    this.#awaited = scenarios
    this.#over.promise.catch(() => {})
  }

  /** Called once by each scenario. Returns the function that reports its arrival; it resolves after the fault. */
  join(): () => Promise<void> {
    let hasReached = false
    return () => {
      if (!hasReached) this.#awaited -= 1
      if (!hasReached && this.#awaited === 0) this.#inject().then(this.#over.resolve, this.#over.reject)
      hasReached = true
      return this.#over.promise
    }
  }
}
