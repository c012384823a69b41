import { keycloak } from '../../../../src/lifecycle/custom/catalogue/keycloak.ts'
import { type SampleObject, testEntries } from './cases.ts'

const resource = (kind: string, conditions: Readonly<Record<string, string>>, message = ''): SampleObject => ({
  apiVersion: 'k8s.keycloak.org/v2alpha1',
  kind,
  metadata: { generation: 2 },
  spec: {},
  status: {
    ...(kind === 'Keycloak' ? { observedGeneration: 2 } : {}),
    conditions: Object.entries(conditions).map(([type, status]) => ({ type, status, message })),
  },
})

testEntries(keycloak, [
  [
    'a Keycloak that is Ready is ready',
    resource('Keycloak', { Ready: 'True', HasErrors: 'False', RollingUpdate: 'False' }),
    { verdict: 'ready' },
  ],
  [
    'a Keycloak that waits for replicas progresses',
    resource('Keycloak', { Ready: 'False', HasErrors: 'False', RollingUpdate: 'False' }, 'Waiting for more replicas'),
    { verdict: 'progressing', mentions: 'Waiting for more replicas' },
  ],
  [
    'a Keycloak that is Ready during a rolling update progresses',
    resource('Keycloak', { Ready: 'True', HasErrors: 'False', RollingUpdate: 'True' }, 'Rolling out deployment update'),
    { verdict: 'progressing', mentions: 'Rolling out deployment update' },
  ],
  [
    'a Keycloak with an error progresses, with the error, although Ready is still True',
    resource('Keycloak', { Ready: 'True', HasErrors: 'True', RollingUpdate: 'False' }, 'Secret db not found'),
    { verdict: 'progressing', mentions: 'Secret db not found' },
  ],
  [
    'a realm that is imported is ready',
    resource('KeycloakRealmImport', { Done: 'True', Started: 'False', HasErrors: 'False' }),
    { verdict: 'ready' },
  ],
  [
    'a realm whose Job runs progresses',
    resource('KeycloakRealmImport', { Done: 'False', Started: 'True', HasErrors: 'False' }),
    { verdict: 'progressing' },
  ],
  [
    'a realm whose Job has an error progresses, with the error',
    resource(
      'KeycloakRealmImport',
      { Done: 'False', Started: 'False', HasErrors: 'True' },
      'Keycloak job execution failed',
    ),
    { verdict: 'progressing', mentions: 'Keycloak job execution failed' },
  ],
])
