import { all, deploymentComplete, secondsAfterStart } from '../cluster-states.ts'
import { until } from '../command.ts'
import type { Fixture } from '../fixture.ts'
import { coreObject, deployment, diesFirst, slowStart, stateVolume, template } from '../objects.ts'
import { healthy, type Rollout, release, rollouts, schedulingGate, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, proxied: true, isIdle: true }
const unreachable = { outcome: 'unknown', reason: 'api-unreachable' }
const neverReached = { outcome: 'misconfigured', reason: 'api-unreachable' }

/** Time for the first lists; a later outage hits established watches. */
const secondsUntilWatched = 2

/** An outage of the connections between the action and the API server. */
interface Outage {
  name: string
  /** For test/reliability/results.md. */
  title: string
  begin(fixture: Fixture): void | Promise<void>
  /** Minimum duration; each outage lasts at least until the API shows the end of the rollout. */
  atLeastSeconds: number
  /** How long after the outage the action may take to detect the dead connection or to reconnect. */
  withinSeconds: number
}

const halfOpen: Outage = {
  name: 'half-open',
  title: 'Connections carry nothing any more, and new ones neither',
  begin: ({ proxy }) => proxy.halfOpen(),
  // Longer than the action waits for a byte, so that its probe of the server fails too.
  atLeastSeconds: 35,
  withinSeconds: 45,
}
const resets: Outage = {
  name: 'resets',
  title: 'Every connection is reset',
  begin: ({ proxy }) => proxy.reset(),
  atLeastSeconds: 10,
  withinSeconds: 15,
}
const refused: Outage = {
  name: 'refused',
  title: 'Every connection is refused',
  begin: ({ proxy }) => proxy.refuse(),
  atLeastSeconds: 10,
  withinSeconds: 15,
}

/** An outage shorter than two minutes changes no outcome. */
function thenBack({ name, title, begin, atLeastSeconds, withinSeconds }: Outage, rollout: Rollout): Scenario {
  return {
    ...web,
    name: `${name}-then-back-${rollout.name}`,
    documented: { fault: `${title}, until the end of the rollout.`, rollout: rollout.name },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await begin(fixture)
      await release(fixture)
      await Promise.all([fixture.wait(atLeastSeconds), untilDecided(fixture, rollout)])
      await fixture.proxy.forward()
      fixture.markDecided()
    },
    expect: rollout.expect,
    contains: { log: ['does not answer'] },
    withinSeconds,
    takesSeconds: Math.max(atLeastSeconds, rollout.takesSeconds) + withinSeconds / 2,
  }
}

/** After two minutes without an answer the outcome is `unknown`, whatever happened to the rollout. */
function forGood({ name, title, begin }: Outage, rollout: Rollout): Scenario {
  return {
    ...web,
    name: `${name}-for-good-${rollout.name}`,
    documented: { fault: `${title}, for good.`, rollout: rollout.name },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await fixture.wait(secondsUntilWatched)
      await begin(fixture)
      // The last answer was a moment earlier.
      fixture.markDecided(118)
      await release(fixture)
    },
    expect: unreachable,
    takesSeconds: 155,
  }
}

/** If the timeout passes during an outage of 30 s, the outcome is `unknown`. */
function atTheTimeout(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `half-open-at-the-timeout-${rollout.name}`,
    documented: { fault: 'Connections carry nothing any more, until the timeout.', rollout: rollout.name },
    inputs: { ...web.inputs, timeout: '45s' },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      fixture.proxy.halfOpen()
      // The action started a moment earlier.
      fixture.markDecided(43)
      await release(fixture)
    },
    expect: unreachable,
    takesSeconds: 48,
  }
}

/** Established connections carry nothing and are not closed, while new ones work: a NAT gateway lost its state. */
function lost(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `connections-lost-${rollout.name}`,
    documented: { fault: 'Open connections carry nothing any more; new ones work.', rollout: rollout.name },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await fixture.wait(secondsUntilWatched)
      fixture.proxy.silence()
      await release(fixture)
    },
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    // A watch is renewed 30 s after its last byte, and at the latest 45 s after it.
    withinSeconds: 35,
    takesSeconds: 38,
  }
}

/** Connections that are closed every few seconds. */
function cut(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `cut-again-and-again-${rollout.name}`,
    documented: { fault: 'All connections are closed every 3 s.', rollout: rollout.name },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await release(fixture)
      let isDecided = false
      const decided = untilDecided(fixture, rollout).finally(() => {
        isDecided = true
      })
      while (!isDecided) {
        fixture.proxy.cut()
        await Promise.race([decided, fixture.wait(3)])
      }
    },
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    takesSeconds: rollout.takesSeconds + 2,
  }
}

/** A slow network from the start. */
function slow(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `slow-${rollout.name}`,
    documented: { fault: 'The network is slow (latency 300 ms, 100 KB/s).', rollout: rollout.name },
    setup: async (fixture) => {
      fixture.proxy.slow({ latencyMs: 300, pieceBytes: 2048, pauseMs: 20 })
      await fixture.apply(rollout.deployment)
    },
    during: release,
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    takesSeconds: rollout.takesSeconds + 5,
  }
}

const shortOutage = { ...web, expect: healthy.expect, withinSeconds: 45, takesSeconds: 55 }
const endAfter = async (fixture: Fixture, seconds: number) => {
  await fixture.wait(seconds)
  await fixture.proxy.forward()
  fixture.markDecided()
}

/** Deadlines that pass while the API server does not answer: each is decided after the next answer. */
const deadlines: Scenario[] = [
  {
    ...shortOutage,
    name: 'half-open-across-the-stall-timeout',
    documented: { fault: 'Connections carry nothing any more, across the stall timeout.', rollout: 'healthy' },
    inputs: { ...web.inputs, 'stall-timeout': '15s' },
    setup: (fixture) => fixture.apply(healthy.deployment),
    during: async (fixture) => {
      fixture.proxy.halfOpen()
      await release(fixture)
      await endAfter(fixture, 25)
    },
  },
  {
    ...shortOutage,
    name: 'half-open-while-it-is-created',
    documented: { fault: 'Connections carry nothing any more while the Deployment is created.', rollout: 'healthy' },
    inputs: { resources: 'configmap/settings\ndeployment/web', 'milestone-timeouts': 'created=10s' },
    setup: (fixture) => fixture.apply(coreObject('ConfigMap', 'settings')),
    during: async (fixture) => {
      fixture.proxy.halfOpen()
      await fixture.apply(deployment('web'))
      await endAfter(fixture, 25)
    },
  },
  {
    ...shortOutage,
    name: 'half-open-while-it-is-replaced',
    documented: { fault: 'Connections carry nothing any more while the Deployment is replaced.', rollout: 'healthy' },
    setup: (fixture) => fixture.apply(deployment('web', { script: slowStart(15) })),
    during: async (fixture) => {
      await fixture.delete('Deployment', 'web')
      await fixture.until('the Deployment is deleted', (informer) => !informer.get('Deployment', 'web'))
      // Time for the action to observe the deletion.
      await fixture.wait(1)
      fixture.proxy.halfOpen()
      await fixture.apply(deployment('web', { script: slowStart(15) }))
      await endAfter(fixture, 20)
    },
  },
  {
    ...shortOutage,
    // Whether the events or the pods are read first after the outage changes nothing.
    name: 'half-open-while-it-crashes-and-recovers',
    setup: (fixture) => {
      const pods = { volumes: stateVolume.volumes, ...schedulingGate }
      return fixture.apply(deployment('web', {}, template('web', diesFirst(3, 'exec serve'), pods)))
    },
    during: async (fixture) => {
      fixture.proxy.halfOpen()
      await release(fixture)
      await until('the deployment is complete', 90, () => deploymentComplete('web')(fixture.informer) !== undefined)
      await endAfter(fixture, 0)
    },
    takesSeconds: 75,
  },
  {
    ...shortOutage,
    // The rollout is complete after the deadline, but before the answer to the request that checks it.
    name: 'slow-answer-at-the-stall-timeout',
    inputs: { ...web.inputs, 'stall-timeout': '10s' },
    setup: (fixture) =>
      fixture.apply(deployment('web', {}, template('web', { script: slowStart(18) }, schedulingGate))),
    during: async (fixture) => {
      fixture.proxy.slow({ latencyMs: 6_000, pieceBytes: 16_384 })
      await release(fixture)
    },
    decidedBy: deploymentComplete('web'),
  },
]

/** An API server that is unreachable from the start is an input error after 30 s. */
const unreachableAtStart: Scenario[] = [
  {
    ...web,
    name: 'refused-from-the-start',
    documented: { fault: 'Every connection is refused from the start.', rollout: 'healthy' },
    setup: ({ proxy }) => proxy.refuse(),
    expect: neverReached,
    decidedBy: secondsAfterStart(28),
    takesSeconds: 31,
  },
  {
    ...web,
    name: 'half-open-from-the-start',
    documented: { fault: 'Connections carry nothing from the start.', rollout: 'healthy' },
    setup: async ({ proxy }) => proxy.halfOpen(),
    expect: neverReached,
    decidedBy: secondsAfterStart(28),
    takesSeconds: 31,
  },
  {
    ...web,
    name: 'refused-at-the-start-then-back',
    documented: { fault: 'Every connection is refused for the first 12 s.', rollout: 'healthy' },
    setup: async (fixture) => {
      await fixture.apply(deployment('web'))
      await fixture.proxy.refuse()
      void fixture.wait(12).then(() => fixture.proxy.forward())
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: all(deploymentComplete('web'), secondsAfterStart(11)),
    takesSeconds: 16,
  },
]

/** Rollouts whose connections to the API server are disturbed. */
export const connections: Scenario[] = [
  ...rollouts.flatMap((rollout) => [
    ...[halfOpen, resets, refused].flatMap((outage) => [thenBack(outage, rollout), forGood(outage, rollout)]),
    atTheTimeout(rollout),
    lost(rollout),
    cut(rollout),
    slow(rollout),
  ]),
  ...deadlines,
  ...unreachableAtStart,
]
