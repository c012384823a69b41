import { type CatalogueEntry, type CatalogueGroup, pods } from './entry.ts'
import { allOf, anyOf, hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/cert-manager/cert-manager/blob/master/pkg'

/** The chain of an issuance with ACME; the pods answer the HTTP01 challenges. */
const orders = [
  { apiVersion: 'acme.cert-manager.io/v1', kind: 'Order' },
  { apiVersion: 'acme.cert-manager.io/v1', kind: 'Challenge' },
  pods,
]

const isFailedIssuance = "c.type == 'Issuing' && c.status == 'False' && c.reason != 'Issued'"

/**
 * Each condition has an `observedGeneration`. Ready of a Certificate is recomputed from the Secret and the request, so
 * it is False while a change is being issued, and stays True during a renewal. A failed issuance sets Issuing to False
 * with the reason of its CertificateRequest; cert-manager retries it an hour later at the earliest. A successful one
 * removes the condition, or sets it to False with the reason Issued.
 */
const certificate: CatalogueEntry = {
  kind: 'Certificate',
  documentation: `${source}/controller/certificates/issuing/issuing_controller.go`,
  current: isTrue('Ready'),
  failed: allOf(isFalse('Ready'), `status.conditions.exists(c, ${isFailedIssuance})`),
  cause: [`status.conditions.filter(c, ${isFailedIssuance}).map(c, c.message)`, messageOf('Ready')],
  owns: [{ apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest' }, ...orders],
}

/** A request is immutable. Pending is retried: the issuer may not exist or not be ready yet. */
const certificateRequest: CatalogueEntry = {
  kind: 'CertificateRequest',
  documentation: `${source}/controller/certificaterequests/util/reporter.go`,
  current: isTrue('Ready'),
  failed: anyOf(isFalse('Ready', 'Failed', 'Denied'), isTrue('Denied'), isTrue('InvalidRequest')),
  cause: [messageOf('InvalidRequest', 'False'), messageOf('Ready')],
  owns: orders,
}

/**
 * The setup of an issuer is retried after most errors, and when its Secret changes. The reasons of a failure are those
 * after which the controller returns no error, so only a change of the issuer or its Secret helps.
 */
function issuer(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/issuer/acme/setup.go`,
    current: isTrue('Ready'),
    failed: isFalse('Ready', 'ErrInvalidKeyPair', 'InvalidConfig', 'InvalidURL', 'InvalidSolver'),
    cause: [messageOf('Ready')],
  }
}

/** The final states of an order and a challenge; a failed order fails its CertificateRequest. */
function acme(kind: string, owns: CatalogueEntry['owns']): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/apis/acme/v1/types_order.go`,
    current: "status.state == 'valid'",
    failed: "status.state in ['invalid', 'expired', 'errored']",
    cause: ['status.reason'],
    owns,
  }
}

export const certManager: CatalogueGroup = {
  group: 'cert-manager.io',
  entries: [certificate, certificateRequest, issuer('Issuer'), issuer('ClusterIssuer')],
}

export const certManagerAcme: CatalogueGroup = {
  group: 'acme.cert-manager.io',
  entries: [acme('Order', orders.slice(1)), acme('Challenge', orders.slice(2))],
}

const trustSource = 'https://github.com/cert-manager/trust-manager/blob/main/pkg/bundle'

/**
 * A missing source may be created later, and a target that cannot be written is tried again. Nothing is tried again if the
 * spec itself contains no certificate, or if trust-manager runs without what the spec needs. Each condition has an
 * `observedGeneration`.
 */
function bundle(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${trustSource}/bundle.go`,
    current: isTrue('Synced'),
    failed: anyOf(
      isFalse('Synced', 'SecretTargetsDisabled'),
      hasCondition('Synced', "c.status == 'False'", "c.message.matches('inline source|no default package')"),
    ),
    cause: [messageOf('Synced')],
  }
}

/** trust-manager. */
export const trustManager: CatalogueGroup = { group: 'trust.cert-manager.io', entries: [bundle('Bundle')] }
export const trustManagerClusterBundles: CatalogueGroup = {
  group: 'trust-manager.io',
  entries: [bundle('ClusterBundle')],
}
