import { describeGrants } from '../../src/reasons/wording.ts'

const user = 'system:serviceaccount:ci:deployer'
const pods = { user, resource: 'pods', group: '', namespace: 'shop' }

describe('the commands that grant missing access', () => {
  it('are a Role and its RoleBinding for all resources of a namespace', () => {
    const deployments = { user, resource: 'deployments', group: 'apps', namespace: 'shop' }
    expect(describeGrants([deployments, pods, deployments])).toBe(
      'Grant user system:serviceaccount:ci:deployer what is missing in namespace shop: ' +
        '`kubectl create role rollout-gate-reader --verb=get,list,watch --resource=deployments.apps,pods,pods/log -n shop`, ' +
        'then `kubectl create rolebinding rollout-gate-reader --role=rollout-gate-reader --serviceaccount=ci:deployer -n shop`.',
    )
  })

  it('grant only access to logs if only logs are missing', () => {
    expect(describeGrants([{ ...pods, resource: 'pods/log' }])).toContain('--verb=get --resource=pods/log -n shop')
  })

  it('are one Role for each namespace, at most four', () => {
    const namespaces = ['a', 'b', 'c', 'd', 'e', 'f']
    const text = describeGrants(namespaces.map((namespace) => ({ ...pods, namespace })))
    expect(text.match(/create role /g)).toHaveLength(4)
    expect(text).toMatch(/The same is missing in 2 more namespaces\.$/)
  })

  it('are a ClusterRole for cluster-scoped objects', () => {
    expect(describeGrants([{ user: 'alice@example.com', resource: 'namespaces', group: '' }])).toMatch(
      /`kubectl create clusterrole .* --resource=namespaces`, then `kubectl create clusterrolebinding .* --user=alice@example\.com`\.$/,
    )
  })

  it('quote a user name with special characters of the shell', () => {
    expect(describeGrants([{ ...pods, user: 'a; rm -rf $HOME `x`' }])).toContain("'--user=a; rm -rf $HOME x'")
  })
})
