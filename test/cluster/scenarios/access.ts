import type { ActionRun } from '../../support/runner.ts'
import { deploymentComplete, secondsAfterStart } from '../cluster-states.ts'
import { run } from '../command.ts'
import type { Fixture } from '../fixture.ts'
import {
  applications,
  defineKind,
  helmReleases,
  kustomizations,
  type PlayedOperator,
  writeDeployed,
} from '../gitops.ts'
import { withCredentialProgram, withToken, withTokenFile } from '../kubeconfig.ts'
import { hasKubectl } from '../kubectl.ts'
import { kubeconfigPath } from '../layout.ts'
import { deployment } from '../objects.ts'
import { healthy, type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'
import {
  accessRules,
  createUser,
  grantAccess,
  readerRules,
  revokeToken,
  shortenToken,
  untilTokenExpired,
  waitForReadStatus,
  withdrawAccess,
} from '../service-accounts.ts'

const user = 'ci'
const web = { inputs: { resources: 'deployment/web' }, proxied: true, isIdle: true }
const forbidden = { outcome: 'unknown', reason: 'forbidden' }

/** The kubeconfig with the token of a user that `createUser` created. */
const kubeconfigOf = (name: string) => (content: string, fixture: Fixture) =>
  withToken(content, fixture.tokens.get(name) ?? '')

const setupRollout = (rollout: Rollout) => async (fixture: Fixture) => {
  await createUser(fixture, user)
  await fixture.apply(rollout.deployment)
}

/**
 * The API server does not close established watches of a refused token, and it caches tokens for 10 s. So the connections
 * are half-open until the token is refused, and the action has to reconnect.
 */
async function revokeWhileDisconnected(fixture: Fixture): Promise<void> {
  fixture.proxy.halfOpen()
  await release(fixture)
  await revokeToken(fixture, user)
}

async function reconnect({ proxy }: Fixture): Promise<void> {
  await proxy.forward()
  proxy.cut()
}

/** The token is refused, and the kubeconfig still contains it. */
function tokenRevoked(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `token-revoked-${rollout.name}`,
    documented: { fault: 'The token is revoked.', rollout: rollout.name },
    kubeconfig: kubeconfigOf(user),
    setup: setupRollout(rollout),
    during: async (fixture) => {
      await revokeWhileDisconnected(fixture)
      await reconnect(fixture)
      fixture.markDecided()
    },
    expect: { outcome: 'unknown', reason: 'credentials-expired' },
    takesSeconds: 16,
  }
}

const revision = '5edbe27c0ffee5edbe27c0ffee5edbe27c0ffee0'

/** An object of a GitOps operator that has deployed a revision, gated with a Role of these rules. */
function atRevision(
  operator: PlayedOperator,
  name: string,
  rules: () => readonly object[],
  expected: Pick<Scenario, 'expect' | 'contains'>,
): Scenario {
  const [group = ''] = operator.apiVersion.split('/')
  const object = `${operator.kind.toLowerCase()}.${group}/shop`
  return {
    ...expected,
    name: `${operator.kind.toLowerCase()}-${name}`,
    inputs: { resources: `${object} --revision=${revision}` },
    kubeconfig: kubeconfigOf(user),
    setup: async (fixture) => {
      const { api, namespace } = fixture
      await defineKind(api, operator, namespace)
      const isReader = JSON.stringify(rules()).includes('"pods"')
      const path = `/apis/${operator.apiVersion}/namespaces/{}/${operator.plural}`
      await createUser(fixture, user, rules(), isReader ? undefined : path)
      await fixture.rollOut(deployment('web'))
      await writeDeployed(api, operator, { namespace, name: 'shop' }, revision)
      fixture.markDecided()
    },
    takesSeconds: 8,
    isIdle: true,
  }
}

const readyAtRevision = { expect: { outcome: 'ready', reason: '' }, contains: { log: [/has deployed 5edbe27/] } }

/** The documented Roles for `--revision`, and what is said without them. The definitions stay until the cluster is taken down. */
const rolesOfRevisions: Scenario[] = [applications, kustomizations, helmReleases].flatMap((operator) => [
  atRevision(operator, 'with-the-role', () => [...readerRules(), ...accessRules(1)], {
    ...readyAtRevision,
    contains: { log: [...readyAtRevision.contains.log, /deployment\/web +deployed by/] },
  }),
  atRevision(operator, 'with-its-role-alone', () => accessRules(1), {
    ...readyAtRevision,
    contains: { log: [...readyAtRevision.contains.log, 'the credentials cannot read it: it counts by the word of'] },
  }),
  atRevision(operator, 'without-the-role', readerRules, {
    expect: { outcome: 'misconfigured', reason: 'forbidden' },
    contains: { summary: [`--resource=${operator.plural}.`] },
  }),
])

const renewed = 'ci-renewed'

/** The token is refused, but the kubeconfig file contains a new one by then. */
function tokenRenewed(rollout: Rollout): Scenario {
  const file = 'kubeconfig.yaml'
  return {
    ...web,
    name: `token-renewed-${rollout.name}`,
    documented: { fault: 'The token is revoked; the kubeconfig file contains a new one.', rollout: rollout.name },
    kubeconfig: (content, fixture) => {
      fixture.write(file, kubeconfigOf(user)(content, fixture))
      return file
    },
    setup: async (fixture) => {
      await createUser(fixture, renewed)
      await setupRollout(rollout)(fixture)
    },
    during: async (fixture) => {
      await revokeWhileDisconnected(fixture)
      fixture.write(file, kubeconfigOf(renewed)(fixture.read(file), fixture))
      await reconnect(fixture)
    },
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    takesSeconds: rollout.takesSeconds + 2,
  }
}

const tokenSeconds = 10

const setupExpiry = (rollout: Rollout) => async (fixture: Fixture) => {
  await createUser(fixture, renewed)
  await setupRollout(rollout)(fixture)
  shortenToken(fixture, user, tokenSeconds)
}

async function expireWhileDisconnected(fixture: Fixture): Promise<void> {
  fixture.proxy.halfOpen()
  await release(fixture)
  await untilTokenExpired(fixture, user)
}

/** The token expires, and nothing renews it. */
function tokenExpired(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `token-expired-${rollout.name}`,
    documented: { fault: 'The token expires.', rollout: rollout.name },
    needsOwnCluster: true,
    kubeconfig: kubeconfigOf(user),
    setup: setupExpiry(rollout),
    during: async (fixture) => {
      await expireWhileDisconnected(fixture)
      await reconnect(fixture)
      fixture.markDecided()
    },
    expect: { outcome: 'unknown', reason: 'credentials-expired' },
    takesSeconds: 25,
  }
}

/** How a kubeconfig renews a token: the file that contains the token, and how the kubeconfig refers to it. */
interface Renewal {
  readonly name: string
  readonly title: string
  readonly kubeconfig: (content: string) => string
  readonly write: (fixture: Fixture, user: string) => void
}

const byFile: Renewal = {
  name: 'by-file',
  title: 'the token file',
  kubeconfig: (content) => withTokenFile(content, 'token'),
  write: (fixture, name) => fixture.write('token', fixture.tokens.get(name) ?? ''),
}

const byProgram: Renewal = {
  name: 'by-program',
  title: 'the credential program',
  kubeconfig: (content) => withCredentialProgram(content, 'cat', ['credential.json']),
  write: (fixture, name) => {
    const apiVersion = 'client.authentication.k8s.io/v1'
    const credential = { apiVersion, kind: 'ExecCredential', status: { token: fixture.tokens.get(name) } }
    fixture.write('credential.json', JSON.stringify(credential))
  },
}

/** The token expires, and the kubeconfig's file or program has a new one by then. */
function tokenExpiredAndRenewed(renewal: Renewal, rollout: Rollout): Scenario {
  return {
    ...web,
    name: `token-expired-and-renewed-${renewal.name}-${rollout.name}`,
    documented: { fault: `The token expires; ${renewal.title} returns a new one.`, rollout: rollout.name },
    needsOwnCluster: true,
    kubeconfig: renewal.kubeconfig,
    setup: async (fixture) => {
      await setupExpiry(rollout)(fixture)
      renewal.write(fixture, user)
    },
    during: async (fixture) => {
      await expireWhileDisconnected(fixture)
      renewal.write(fixture, renewed)
      await reconnect(fixture)
    },
    expect: rollout.expect,
    decidedBy: rollout.decidedBy,
    takesSeconds: Math.max(rollout.takesSeconds, 25) + 2,
  }
}

/** The RoleBinding is removed, and not restored. */
function bindingRemoved(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `role-binding-removed-${rollout.name}`,
    documented: { fault: 'The RoleBinding is removed.', rollout: rollout.name },
    kubeconfig: kubeconfigOf(user),
    setup: setupRollout(rollout),
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

/** The RoleBinding is removed and restored within 30 s, as when a role is applied again. */
function bindingRestored(rollout: Rollout): Scenario {
  return {
    ...web,
    name: `role-binding-restored-${rollout.name}`,
    documented: { fault: 'The RoleBinding is removed, and restored after 18 s.', rollout: rollout.name },
    kubeconfig: kubeconfigOf(user),
    setup: setupRollout(rollout),
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
    // Refused requests are retried after 20 s.
    withinSeconds: 25,
    takesSeconds: rollout.takesSeconds + 15,
  }
}

/** Runs the kubectl commands of the error. Returns what is wrong with them; throws if the user still may not read. */
async function grantsSuffice({ outputs, log }: ActionRun, fixture: Fixture): Promise<string[]> {
  // The log may have reported before that Events cannot be read, with commands for them alone.
  const [error = ''] = /^::error .*$/m.exec(log) ?? []
  const commands = new Set([...error.matchAll(/`kubectl (create [^`]+)`/g)].map(([, command = '']) => command))
  if (commands.size !== 2) return [`the message does not contain two commands: ${outputs['message']}`]
  if (!hasKubectl()) return []
  for (const command of commands) await run('kubectl', [`--kubeconfig=${kubeconfigPath}`, ...command.split(' ')])
  const paths = [
    '/apis/apps/v1/namespaces/{}/deployments',
    '/apis/apps/v1/namespaces/{}/replicasets',
    '/api/v1/namespaces/{}/events',
  ]
  for (const path of paths) await waitForReadStatus(fixture, user, 200, path)
  return []
}

const manyNames = ['web', ...Array.from({ length: 9 }, (_, index) => `worker-${index}`)]

/** Rollouts whose user has limited access, loses it, or loses it for a short time. */
export const access: Scenario[] = [
  ...rolesOfRevisions,
  ...rollouts.flatMap((rollout) => [
    tokenRevoked(rollout),
    tokenRenewed(rollout),
    bindingRemoved(rollout),
    bindingRestored(rollout),
    tokenExpired(rollout),
    tokenExpiredAndRenewed(byFile, rollout),
    tokenExpiredAndRenewed(byProgram, rollout),
  ]),
  {
    ...web,
    // Established watches continue, so the action is refused only when it renews a watch.
    name: 'token-expired-without-a-cut',
    documented: { fault: 'The token expires, and no connection ends.', rollout: 'healthy' },
    needsOwnCluster: true,
    kubeconfig: kubeconfigOf(user),
    setup: async (fixture) => {
      await createUser(fixture, user)
      await fixture.apply(deployment('web', { readiness: 'never' }))
      shortenToken(fixture, user, tokenSeconds)
    },
    during: async (fixture) => {
      await untilTokenExpired(fixture, user)
      fixture.markDecided()
    },
    expect: { outcome: 'unknown', reason: 'credentials-expired' },
    // A watch lasts at most 60 s.
    withinSeconds: 60,
    takesSeconds: 75,
  },
  {
    ...web,
    // The Role allows single names only, and there are more names than single watches.
    name: 'role-for-single-names',
    documented: { fault: 'The Role permits single names only.', rollout: 'healthy' },
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
    name: 'role-incomplete',
    documented: { fault: 'The Role permits only pods.', rollout: 'healthy' },
    needsOwnCluster: true,
    kubeconfig: kubeconfigOf(user),
    setup: async (fixture) => {
      await createUser(fixture, user, [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }])
      await fixture.apply(deployment('web'))
    },
    expect: { outcome: 'misconfigured', reason: 'forbidden' },
    decidedBy: secondsAfterStart(0),
    takesSeconds: 3,
    check: grantsSuffice,
  },
  {
    ...web,
    // The user may list, but not watch: the action polls.
    name: 'role-without-watch',
    documented: { fault: 'The Role permits no watch.', rollout: 'healthy' },
    kubeconfig: kubeconfigOf(user),
    setup: async (fixture) => {
      await createUser(fixture, user, [{ apiGroups: ['', 'apps'], resources: ['*'], verbs: ['get', 'list'] }])
      await fixture.apply(healthy.deployment)
    },
    during: release,
    expect: healthy.expect,
    decidedBy: healthy.decidedBy,
    takesSeconds: healthy.takesSeconds + 8,
  },
  {
    ...web,
    // The controllers report enough for the outcome.
    name: 'role-for-workloads-only',
    documented: { fault: 'The Role permits only Deployments.', rollout: 'healthy' },
    kubeconfig: kubeconfigOf(user),
    setup: async (fixture) => {
      const verbs = ['get', 'list', 'watch']
      const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs }]
      await createUser(fixture, user, rules, '/apis/apps/v1/namespaces/{}/deployments')
      await fixture.apply(healthy.deployment)
    },
    during: release,
    expect: healthy.expect,
    decidedBy: healthy.decidedBy,
    contains: { log: ['cannot be read: continuing', '--resource=', 'pods/log', 'events', 'replicasets'] },
    takesSeconds: healthy.takesSeconds + 2,
  },
  {
    ...web,
    // Established watches continue, so the action is refused only when it renews a watch.
    name: 'role-binding-removed-without-a-cut',
    documented: { fault: 'The RoleBinding is removed, and no connection ends.', rollout: 'healthy' },
    kubeconfig: kubeconfigOf(user),
    setup: async (fixture) => {
      await createUser(fixture, user)
      await fixture.apply(deployment('web', { readiness: 'never' }))
    },
    during: async (fixture) => {
      // Time for the first lists and the start of the watches.
      await fixture.wait(2)
      await withdrawAccess(fixture, user)
      fixture.markDecided(30)
    },
    expect: forbidden,
    // A watch lasts at most 60 s.
    withinSeconds: 75,
    takesSeconds: 95,
  },
  {
    name: 'wrong-token',
    documented: { fault: 'The token was never valid.', rollout: 'healthy' },
    inputs: { resources: 'deployment/web' },
    kubeconfig: (content) => withToken(content, 'not-the-one'),
    setup: (fixture) => fixture.apply(deployment('web')),
    expect: { outcome: 'misconfigured' },
    decidedBy: secondsAfterStart(0),
    takesSeconds: 3,
  },
]
