import type { CatalogueGroup } from './entry.ts'

const ready = `status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')`
const notReady = `status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')`
const failedIssuance = `status.conditions.exists(c, c.type == 'Issuing' && c.status == 'False')`

/** The message of a condition that is not True. */
const messageOf = (type: string) =>
  `status.conditions.filter(c, c.type == '${type}' && c.status != 'True').map(c, c.message)`

/** https://cert-manager.io */
export const certManager: CatalogueGroup = {
  group: 'cert-manager.io',
  entries: [
    {
      kind: 'Certificate',
      // A failed issuance sets Issuing to False, and the next attempt is an hour later; a successful one removes the condition.
      documentation:
        'https://github.com/cert-manager/cert-manager/blob/master/pkg/controller/certificates/issuing/issuing_controller.go',
      current: ready,
      failed: `${notReady} && ${failedIssuance}`,
      cause: [messageOf('Issuing'), messageOf('Ready')],
      owns: [
        { apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest' },
        { apiVersion: 'acme.cert-manager.io/v1', kind: 'Order' },
        { apiVersion: 'acme.cert-manager.io/v1', kind: 'Challenge' },
      ],
    },
  ],
}
