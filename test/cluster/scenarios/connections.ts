import { all, deploymentComplete, secondsAfterStart } from '../cluster-states.ts'
import { until } from '../command.ts'
import type { Fixture } from '../fixture.ts'
import { deployment, diesFirst, plain, slowStart, stateVolume, template } from '../objects.ts'
import { healthy, held, type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, proxied: true, isIdle: true }
const unreachable = { outcome: 'unknown', reason: 'api-unreachable' }
const neverReached = { outcome: 'misconfigured', reason: 'api-unreachable' }

/** After its first lists the action opens its watches: an outage from now on meets established connections. */
const secondsUntilWatched = 2

/** An outage of the connections between the action and the API server. */
interface Outage {
  name: string
  begin(fixture: Fixture): void | Promise<void>
  /** How long it lasts at least; it always lasts until the API shows how the rollout ends. */
  atLeastSeconds: number
  /** How much later the action may know: until it notices that a connection is dead, or tries again. */
  withinSeconds: number
}

const halfOpen: Outage = {
  name: 'half-open',
  begin: ({ proxy }) => proxy.halfOpen(),
  // Longer than the action waits for a byte, so that its question whether the server is there gets no answer either.
  atLeastSeconds: 35,
  withinSeconds: 45,
}
const resets: Outage = { name: 'resets', begin: ({ proxy }) => proxy.reset(), atLeastSeconds: 10, withinSeconds: 15 }
const refused: Outage = { name: 'refused', begin: ({ proxy }) => proxy.refuse(), atLeastSeconds: 10, withinSeconds: 15 }

/** An outage of less than two minutes changes no result. */
function thenBack({ name, begin, atLeastSeconds, withinSeconds }: Outage, rollout: Rollout): Scenario {
  return {
    ...web,
    name: `${name}-then-back-${rollout.name}`,
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await begin(fixture)
      await release(fixture)
      await Promise.all([fixture.wait(atLeastSeconds), untilDecided(fixture, rollout)])
      await fixture.proxy.forward()
      fixture.markDecided()
    },
    expect: rollout.expect,
    check: ({ log }) =>
      log.includes('does not answer') ? [] : ['the log does not contain that the API server does not answer'],
    withinSeconds,
    takesSeconds: Math.max(atLeastSeconds, rollout.takesSeconds) + withinSeconds / 2,
  }
}

/** After two minutes without an answer nobody knows how the rollout went, whatever it did meanwhile. */
function forGood({ name, begin }: Outage, rollout: Rollout): Scenario {
  return {
    ...web,
    name: `${name}-for-good-${rollout.name}`,
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await fixture.wait(secondsUntilWatched)
      await begin(fixture)
      // The last answer came a moment before.
      fixture.markDecided(118)
      await release(fixture)
    },
    expect: unreachable,
    takesSeconds: 155,
  }
}

/** The gate's timeout ends nothing but the gate when the last 30 s had no answer. */
function atTheTimeout(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `half-open-at-the-timeout-${rollout.name}`,
    inputs: { ...web.inputs, timeout: '45s' },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      fixture.proxy.halfOpen()
      // The action has run for a moment.
      fixture.markDecided(43)
      await release(fixture)
    },
    expect: unreachable,
    takesSeconds: 48,
  }
}

/** Connections that die without a word, while new ones work: a NAT gateway has lost its state. */
function lost(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `connections-lost-${rollout.name}`,
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

/** A slow network, from the beginning. */
function slow(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `slow-${rollout.name}`,
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

/** Deadlines of a rollout that is fine, which pass while nobody can know it: each waits for an answer. */
const deadlines: Scenario[] = [
  {
    ...shortOutage,
    name: 'half-open-across-the-stall-timeout',
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
    inputs: { resources: 'configmap/settings\ndeployment/web', 'milestone-timeouts': 'created=10s' },
    setup: (fixture) => fixture.apply(plain('ConfigMap', 'settings')),
    during: async (fixture) => {
      fixture.proxy.halfOpen()
      await fixture.apply(deployment('web'))
      await endAfter(fixture, 25)
    },
  },
  {
    ...shortOutage,
    name: 'half-open-while-it-is-replaced',
    setup: (fixture) => fixture.apply(healthy.deployment),
    during: async (fixture) => {
      await fixture.delete('Deployment', 'web')
      await fixture.until('the deployment is gone', (informer) => !informer.get('Deployment', 'web'))
      // The action is to see that, too.
      await fixture.wait(1)
      fixture.proxy.halfOpen()
      await fixture.apply(deployment('web'))
      await endAfter(fixture, 20)
    },
  },
  {
    ...shortOutage,
    // What is read first after the outage, the events of its crashes or its pods, makes no difference.
    name: 'half-open-while-it-crashes-and-recovers',
    setup: (fixture) => {
      const pods = { volumes: stateVolume.volumes, ...held }
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
    // Complete after the deadline has passed, and before the answer to the question whether it is.
    name: 'slow-answer-at-the-stall-timeout',
    inputs: { ...web.inputs, 'stall-timeout': '10s' },
    setup: (fixture) => fixture.apply(deployment('web', {}, template('web', { script: slowStart(18) }, held))),
    during: async (fixture) => {
      fixture.proxy.slow({ latencyMs: 6_000, pieceBytes: 16_384 })
      await release(fixture)
    },
    decidedBy: deploymentComplete('web'),
  },
]

/** A server that cannot be reached from the beginning: the user's mistake, once it was tried for 30 s. */
const beginnings: Scenario[] = [
  {
    ...web,
    name: 'refused-from-the-start',
    setup: ({ proxy }) => proxy.refuse(),
    expect: neverReached,
    decidedBy: secondsAfterStart(28),
    takesSeconds: 31,
  },
  {
    ...web,
    name: 'half-open-from-the-start',
    setup: async ({ proxy }) => proxy.halfOpen(),
    expect: neverReached,
    decidedBy: secondsAfterStart(28),
    takesSeconds: 31,
  },
  {
    ...web,
    name: 'refused-at-the-start-then-back',
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
  ...beginnings,
]
