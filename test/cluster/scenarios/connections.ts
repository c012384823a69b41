import { until } from '../command.ts'
import { all, deploymentComplete, secondsAfterStart } from '../facts.ts'
import { deployment, diesFirst, plain, slowStart, stateVolume, template } from '../objects.ts'
import { healthy, held, type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'deployment/web' }, proxied: true, isIdle: true }
const unreachable = { outcome: 'unknown', reason: 'api-unreachable' }
const neverReached = { outcome: 'misconfigured', reason: 'api-unreachable' }

/** After its first lists the action opens its watches: an outage from now on meets established connections. */
const secondsUntilWatched = 2

/** An outage of the connections between the action and the API server. */
interface Outage {
  name: string
  begin(stage: Stage): void | Promise<void>
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

/** An outage of less than two minutes changes no verdict. */
function thenBack({ name, begin, atLeastSeconds, withinSeconds }: Outage, rollout: Rollout): Scenario {
  return {
    ...web,
    name: `${name}-then-back-${rollout.name}`,
    setup: (stage) => stage.apply(rollout.deployment),
    during: async (stage) => {
      await begin(stage)
      await release(stage)
      await Promise.all([stage.pass(atLeastSeconds), untilDecided(stage, rollout)])
      await stage.proxy.pass()
      stage.decide()
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
    setup: (stage) => stage.apply(rollout.deployment),
    during: async (stage) => {
      await stage.pass(secondsUntilWatched)
      await begin(stage)
      // The last answer came a moment before.
      stage.decide(118)
      await release(stage)
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
    setup: (stage) => stage.apply(rollout.deployment),
    during: async (stage) => {
      stage.proxy.halfOpen()
      // The action has run for a moment.
      stage.decide(43)
      await release(stage)
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
    setup: (stage) => stage.apply(rollout.deployment),
    during: async (stage) => {
      await stage.pass(secondsUntilWatched)
      stage.proxy.silence()
      await release(stage)
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
    setup: (stage) => stage.apply(rollout.deployment),
    during: async (stage) => {
      await release(stage)
      let isDecided = false
      const decided = untilDecided(stage, rollout).finally(() => {
        isDecided = true
      })
      while (!isDecided) {
        stage.proxy.cut()
        await Promise.race([decided, stage.pass(3)])
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
    setup: async (stage) => {
      stage.proxy.slow({ latencyMs: 300, pieceBytes: 2048, pauseMs: 20 })
      await stage.apply(rollout.deployment)
    },
    during: release,
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    takesSeconds: rollout.takesSeconds + 5,
  }
}

const shortOutage = { ...web, expect: healthy.expect, withinSeconds: 45, takesSeconds: 55 }
const endAfter = async (stage: Stage, seconds: number) => {
  await stage.pass(seconds)
  await stage.proxy.pass()
  stage.decide()
}

/** Deadlines of a rollout that is fine, which pass while nobody can know it: each waits for an answer. */
const deadlines: Scenario[] = [
  {
    ...shortOutage,
    name: 'half-open-across-the-stall-timeout',
    inputs: { ...web.inputs, 'stall-timeout': '15s' },
    setup: (stage) => stage.apply(healthy.deployment),
    during: async (stage) => {
      stage.proxy.halfOpen()
      await release(stage)
      await endAfter(stage, 25)
    },
  },
  {
    ...shortOutage,
    name: 'half-open-while-it-is-created',
    inputs: { resources: 'configmap/settings\ndeployment/web', 'milestone-timeouts': 'created=10s' },
    setup: (stage) => stage.apply(plain('ConfigMap', 'settings')),
    during: async (stage) => {
      stage.proxy.halfOpen()
      await stage.apply(deployment('web'))
      await endAfter(stage, 25)
    },
  },
  {
    ...shortOutage,
    name: 'half-open-while-it-is-replaced',
    setup: (stage) => stage.apply(healthy.deployment),
    during: async (stage) => {
      await stage.delete('Deployment', 'web')
      await stage.until('the deployment is gone', (view) => !view.get('Deployment', 'web'))
      // The action is to see that, too.
      await stage.pass(1)
      stage.proxy.halfOpen()
      await stage.apply(deployment('web'))
      await endAfter(stage, 20)
    },
  },
  {
    ...shortOutage,
    // What is read first after the outage, the events of its crashes or its pods, makes no difference.
    name: 'half-open-while-it-crashes-and-recovers',
    setup: (stage) => {
      const pods = { volumes: stateVolume.volumes, ...held }
      return stage.apply(deployment('web', {}, template('web', diesFirst(3, 'exec serve'), pods)))
    },
    during: async (stage) => {
      stage.proxy.halfOpen()
      await release(stage)
      await until('the deployment is complete', 90, () => deploymentComplete('web')(stage.view) !== undefined)
      await endAfter(stage, 0)
    },
    takesSeconds: 75,
  },
  {
    ...shortOutage,
    // Complete after the deadline has passed, and before the answer to the question whether it is.
    name: 'slow-answer-at-the-stall-timeout',
    inputs: { ...web.inputs, 'stall-timeout': '10s' },
    setup: (stage) => stage.apply(deployment('web', {}, template('web', { script: slowStart(18) }, held))),
    during: async (stage) => {
      stage.proxy.slow({ latencyMs: 6_000, pieceBytes: 16_384 })
      await release(stage)
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
    setup: async (stage) => {
      await stage.apply(deployment('web'))
      await stage.proxy.refuse()
      void stage.pass(12).then(() => stage.proxy.pass())
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
