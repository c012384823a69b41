import { deploymentComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { withToken } from '../kubeconfig.ts'
import { deployment } from '../objects.ts'
import { type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'
import { createUser, grantAccess, revokeToken, withdrawAccess } from '../service-accounts.ts'

const user = 'ci'
const web = { inputs: { resources: 'deployment/web' }, proxied: true, isIdle: true }
const forbidden = { outcome: 'unknown', reason: 'forbidden' }

/** The kubeconfig of a user that `createUser` has made. */
const kubeconfigOf = (name: string) => (content: string, fixture: Fixture) =>
  withToken(content, fixture.tokens.get(name) ?? '')

const begin = (rollout: Rollout) => async (fixture: Fixture) => {
  await createUser(fixture, user)
  await fixture.apply(rollout.deployment)
}

/**
 * The API server goes on with established watches when it refuses their token, and knows a token for 10 s more. So the
 * action is kept in the dark until the token is refused, and then has to ask anew.
 */
async function revokeUnseen(fixture: Fixture): Promise<void> {
  fixture.proxy.halfOpen()
  await release(fixture)
  await revokeToken(fixture, user)
}

async function reconnect({ proxy }: Fixture): Promise<void> {
  await proxy.forward()
  proxy.cut()
}

/** The token is refused, and reading the kubeconfig again gives the same. */
function tokenRevoked(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `token-revoked-${rollout.name}`,
    kubeconfig: kubeconfigOf(user),
    setup: begin(rollout),
    during: async (fixture) => {
      await revokeUnseen(fixture)
      await reconnect(fixture)
      fixture.markDecided()
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
    kubeconfig: (content, fixture) => {
      fixture.write(file, kubeconfigOf(user)(content, fixture))
      return file
    },
    setup: async (fixture) => {
      await createUser(fixture, renewed)
      await begin(rollout)(fixture)
    },
    during: async (fixture) => {
      await revokeUnseen(fixture)
      fixture.write(file, kubeconfigOf(renewed)(fixture.read(file), fixture))
      await reconnect(fixture)
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
    during: async (fixture) => {
      await withdrawAccess(fixture, user)
      fixture.proxy.cut()
      fixture.markDecided(30)
      await release(fixture)
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
    during: async (fixture) => {
      await withdrawAccess(fixture, user)
      fixture.proxy.cut()
      await release(fixture)
      await fixture.wait(18)
      await grantAccess(fixture, user)
      await untilDecided(fixture, rollout)
      fixture.markDecided()
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
    setup: async (fixture) => {
      const verbs = ['get', 'list', 'watch']
      await createUser(fixture, user, [
        { apiGroups: ['apps'], resources: ['deployments'], resourceNames: manyNames, verbs },
        { apiGroups: ['apps'], resources: ['replicasets'], verbs },
        { apiGroups: [''], resources: ['pods', 'events'], verbs },
      ])
      await fixture.apply(...manyNames.map((name) => deployment(name, {}, { replicas: name === 'web' ? 1 : 0 })))
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
    setup: async (fixture) => {
      await createUser(fixture, user)
      await fixture.apply(deployment('web', { readiness: 'never' }))
    },
    during: async (fixture) => {
      // The first lists are there, and then the watches.
      await fixture.wait(2)
      await withdrawAccess(fixture, user)
      fixture.markDecided(30)
    },
    expect: forbidden,
    // A watch lasts 60 s at the most.
    withinSeconds: 75,
    takesSeconds: 95,
  },
]
