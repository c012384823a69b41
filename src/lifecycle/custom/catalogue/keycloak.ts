import { type CatalogueGroup, jobs, pods, statefulSets } from './entry.ts'
import { allOf, isFalse, isTrue, messageOf } from './expressions.ts'

const source =
  'https://github.com/keycloak/keycloak/blob/main/operator/src/main/java/org/keycloak/operator/crds/v2alpha1'

/** Keycloak operator. */
export const keycloak: CatalogueGroup = {
  group: 'k8s.keycloak.org',
  entries: [
    {
      kind: 'Keycloak',
      documentation: `${source}/deployment/KeycloakStatusAggregator.java`,
      // Ready may be older than an error that the operator has met since.
      current: allOf(isTrue('Ready'), `!${isTrue('HasErrors')}`, `!${isTrue('RollingUpdate')}`),
      cause: [messageOf('HasErrors', 'False'), messageOf('Ready'), messageOf('RollingUpdate', 'False')],
      owns: [statefulSets, jobs, pods],
      isWorkload: true,
      awaitsWorkloads: true,
    },
    {
      kind: 'KeycloakRealmImport',
      documentation: `${source}/realmimport/KeycloakRealmImportStatusBuilder.java`,
      current: allOf(isTrue('Done'), isFalse('HasErrors')),
      cause: [messageOf('HasErrors', 'False'), messageOf('Done'), messageOf('Started', 'False')],
      owns: [jobs, pods],
      isWorkload: true,
    },
  ],
}
