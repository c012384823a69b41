import type { CatalogueEntry, CatalogueGroup } from './entry.ts'
import { allOf, anyOf, isTrue } from './expressions.ts'

/**
 * How every controller of Flux reports its objects: Ready of the present generation, Reconciling while it works, and Stalled
 * when it does not try again (https://github.com/fluxcd/pkg/blob/main/apis/meta/conditions.go). All other failures are
 * repeated, and end when what they refer to is corrected.
 */
const fluxExpressions = {
  current: allOf(
    isTrue('Ready'),
    `!status.conditions.exists(c, c.type in ['Reconciling', 'Stalled'] && c.status == 'True')`,
  ),
  failed: isTrue('Stalled'),
  suspended: `spec.suspend == true`,
  // Each operation has a timeout. While a retry is pending, the stall clock runs.
  stallHold: allOf(
    `status.conditions.exists(c, c.type == 'Reconciling' && c.status == 'True' && c.reason == 'Progressing')`,
    `status.conditions.exists(c, c.type == 'Ready' && c.status == 'Unknown')`,
  ),
  cause: [
    `status.conditions.filter(c, c.type == 'Ready' && c.status == 'False')[0].message`,
    `status.conditions.filter(c, c.type == 'Stalled' && c.status == 'True')[0].message`,
    `status.conditions.filter(c, c.type == 'Reconciling' && c.status == 'True')[0].message`,
  ],
} as const

/** @param type of the object in the commands of `flux`; undefined for a kind that they cannot resume */
function entry(kind: string, documentation: string, type?: string, more: Partial<CatalogueEntry> = {}): CatalogueEntry {
  const resume = type === undefined ? undefined : `flux resume ${type} {name} -n {namespace}`
  return {
    kind,
    documentation: `https://fluxcd.io/flux/components/${documentation}/`,
    ...fluxExpressions,
    resume,
    ...more,
  }
}

export const fluxKustomize: CatalogueGroup = {
  group: 'kustomize.toolkit.fluxcd.io',
  entries: [entry('Kustomization', 'kustomize/kustomizations', 'kustomization')],
}

const failedRelease = `status.conditions.filter(c, c.type in ['Released', 'TestSuccess'] && c.status == 'False')[0].message`

export const fluxHelm: CatalogueGroup = {
  group: 'helm.toolkit.fluxcd.io',
  entries: [
    entry('HelmRelease', 'helm/helmreleases', 'helmrelease', {
      // After a rollback, Ready describes the rollback, and Released the failure before it. During a retry, both count.
      cause: [
        `status.conditions.filter(c, c.type == 'Ready' && c.status == 'Unknown')[0].message + '; before: ' + ${failedRelease}`,
        failedRelease,
        ...fluxExpressions.cause,
      ],
      milestones: [{ name: 'released', done: isTrue('Released') }],
    }),
  ],
}

export const fluxSource: CatalogueGroup = {
  group: 'source.toolkit.fluxcd.io',
  entries: [
    entry('GitRepository', 'source/gitrepositories', 'source git'),
    entry('OCIRepository', 'source/ocirepositories', 'source oci'),
    entry('Bucket', 'source/buckets', 'source bucket'),
    entry('HelmChart', 'source/helmcharts', 'source chart'),
    entry('HelmRepository', 'source/helmrepositories', 'source helm', {
      // A repository of type `oci` is static: its controller writes no status.
      current: anyOf(`spec.type == 'oci'`, fluxExpressions.current),
    }),
    // Written by other controllers, which have no suspension.
    entry('ExternalArtifact', 'source/externalartifacts'),
  ],
}

export const fluxImage: CatalogueGroup = {
  group: 'image.toolkit.fluxcd.io',
  entries: [
    entry('ImageRepository', 'image/imagerepositories', 'image repository'),
    entry('ImagePolicy', 'image/imagepolicies', 'image policy'),
    entry('ImageUpdateAutomation', 'image/imageupdateautomations', 'image update'),
  ],
}

/** Configuration since v1beta3: the status of an older version is not written any more. */
const staticObject = {
  current: 'true',
  failed: undefined,
  suspended: undefined,
  stallHold: undefined,
  cause: [],
} as const

export const fluxNotification: CatalogueGroup = {
  group: 'notification.toolkit.fluxcd.io',
  entries: [
    entry('Receiver', 'notification/receivers', 'receiver'),
    entry('Provider', 'notification/providers', undefined, staticObject),
    entry('Alert', 'notification/alerts', undefined, staticObject),
  ],
}
