import { deploymentComplete } from '../facts.ts'
import { withToken } from '../kubeconfig.ts'
import { deployment } from '../objects.ts'
import { type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { createUser, grantAccess, revokeToken, withdrawAccess } from '../users.ts'

const user = 'ci'
const web = { inputs: { resources: 'deployment/web' }, proxied: true, isIdle: true }
const forbidden = { outcome: 'unknown', reason: 'forbidden' }

/** The kubeconfig of a user that `createUser` has made. */
const kubeconfigOf = (name: string) => (content: string, stage: Stage) =>
  withToken(content, stage.tokens.get(name) ?? '')

const begin = (rollout: Rollout) => async (stage: Stage) => {
  await createUser(stage, user)
  await stage.apply(rollout.deployment)
}

/**
 * The API server goes on with established watches when it refuses their token, and knows a token for 10 s more. So the
 * action is kept in the dark until the token is refused, and then has to ask anew.
 */
async function revokeUnseen(stage: Stage): Promise<void> {
  stage.proxy.halfOpen()
  await release(stage)
  await revokeToken(stage, user)
}

async function reconnect({ proxy }: Stage): Promise<void> {
  await proxy.pass()
  proxy.cut()
}

/** The token is refused, and reading the kubeconfig again gives the same. */
function tokenRevoked(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `token-revoked-${rollout.name}`,
    kubeconfig: kubeconfigOf(user),
    setup: begin(rollout),
    during: async (stage) => {
      await revokeUnseen(stage)
      await reconnect(stage)
      stage.decide()
    },
    expect: { outcome: 'unknown', reason: 'credentials-expired' },
    takesSeconds: 16,
  }
}

/** The token is refused, but the kubeconfig's file has a new one by then. */
function tokenRenewed(rollout: Rollout): Scenario {
  const renewed = 'ci-renewed'
  const file = 'kubeconfig.yaml'
  return {
    ...web,
    name: `token-renewed-${rollout.name}`,
    kubeconfig: (content, stage) => {
      stage.write(file, kubeconfigOf(user)(content, stage))
      return file
    },
    setup: async (stage) => {
      await createUser(stage, renewed)
      await begin(rollout)(stage)
    },
    during: async (stage) => {
      await revokeUnseen(stage)
      stage.write(file, kubeconfigOf(renewed)(stage.read(file), stage))
      await reconnect(stage)
    },
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    takesSeconds: rollout.takesSeconds + 2,
  }
}

/** Access is withdrawn and does not come back. */
function bindingRemoved(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `role-binding-removed-${rollout.name}`,
    kubeconfig: kubeconfigOf(user),
    setup: begin(rollout),
    during: async (stage) => {
      await withdrawAccess(stage, user)
      stage.proxy.cut()
      stage.decide(30)
      await release(stage)
    },
    expect: forbidden,
    takesSeconds: 36,
  }
}

/** Access is withdrawn and given back within 30 s, as when a role is written anew. */
function bindingRestored(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `role-binding-restored-${rollout.name}`,
    kubeconfig: kubeconfigOf(user),
    setup: begin(rollout),
    during: async (stage) => {
      await withdrawAccess(stage, user)
      stage.proxy.cut()
      await release(stage)
      await stage.pass(18)
      await grantAccess(stage, user)
      await untilDecided(stage, rollout)
      stage.decide()
    },
    expect: rollout.expect,
    // What was refused is asked for again after 20 s.
    withinSeconds: 25,
    takesSeconds: rollout.takesSeconds + 15,
  }
}

const manyNames = ['web', ...Array.from({ length: 9 }, (_, index) => `worker-${index}`)]

/** Rollouts whose user has little access to the cluster, loses it, or only seems to. */
export const access: Scenario[] = [
  ...rollouts.flatMap((rollout) => [
    tokenRevoked(rollout),
    tokenRenewed(rollout),
    bindingRemoved(rollout),
    bindingRestored(rollout),
  ]),
  {
    ...web,
    // More names than are watched one by one: the list of all Deployments is refused, each name is not.
    name: 'role-for-single-names',
    inputs: { resources: manyNames.map((name) => `deployment/${name}`).join('\n') },
    kubeconfig: kubeconfigOf(user),
    setup: async (stage) => {
      const verbs = ['get', 'list', 'watch']
      await createUser(stage, user, [
        { apiGroups: ['apps'], resources: ['deployments'], resourceNames: manyNames, verbs },
        { apiGroups: ['apps'], resources: ['replicasets'], verbs },
        { apiGroups: [''], resources: ['pods', 'events'], verbs },
      ])
      await stage.apply(...manyNames.map((name) => deployment(name, {}, { replicas: name === 'web' ? 1 : 0 })))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 8,
  },
  {
    ...web,
    // Established watches go on, so the action learns of it when a watch has to be renewed.
    name: 'role-binding-removed-without-a-cut',
    kubeconfig: kubeconfigOf(user),
    setup: async (stage) => {
      await createUser(stage, user)
      await stage.apply(deployment('web', { readiness: 'never' }))
    },
    during: async (stage) => {
      // The first lists are there, and then the watches.
      await stage.pass(2)
      await withdrawAccess(stage, user)
      stage.decide(30)
    },
    expect: forbidden,
    // A watch lasts 60 s at the most.
    withinSeconds: 75,
    takesSeconds: 95,
  },
]
