import { type CatalogueEntry, type CatalogueGroup, deployments, pods } from './entry.ts'
import { allOf, anyOf, hasCondition, isAnnotated, isFalse, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/crossplane/crossplane/blob/main'
const runtime = 'https://github.com/crossplane/crossplane-runtime/blob/main'

/** Every reconciler stops at this annotation, and reports Synced=False with the reason ReconcilePaused. */
const isPaused = anyOf(isAnnotated('crossplane.io/paused', 'true'), isFalse('Synced', 'ReconcilePaused'))

/** The command that removes the annotation, for a kind of cluster scope. */
function resumeOf(resource: string): string {
  return `kubectl annotate ${resource} {name} crossplane.io/paused-`
}

/**
 * A managed resource. Providers set Ready without a generation, so the generation of Synced shows what is old. An error
 * of the provider is retried (Synced=False). After the update of a provider that works in the background, Ready stays
 * True while AsyncOperation is False; the result is in LastAsyncOperation, and a failure is retried. An interrupted
 * creation is the exception: the provider does nothing until a user removes an annotation.
 */
const managed: CatalogueEntry = {
  kind: '*',
  documentation: `${runtime}/pkg/reconciler/managed/reconciler.go`,
  inProgress: isFalse('AsyncOperation'),
  suspended: isPaused,
  failed: hasCondition('Synced', "c.status == 'False'", "c.message.contains('cannot determine creation result')"),
  current: allOf(isTrue('Ready'), isTrue('Synced')),
  cause: [messageOf('Synced'), messageOf('LastAsyncOperation'), messageOf('Ready')],
}

/** Credentials of a provider. Their status counts the resources that use them, and is empty before the first. */
function configuration(kind: string): CatalogueEntry {
  return { kind, documentation: `${runtime}/pkg/reconciler/providerconfig/reconciler.go`, current: 'true' }
}

function providerGroup(group: string): CatalogueGroup {
  const configurations = ['ProviderConfig', 'ClusterProviderConfig', 'ProviderConfigUsage', 'StoreConfig']
  return { group, entries: [...configurations.map(configuration), managed] }
}

/** The groups of providers: `ec2.aws.upbound.io`, `helm.crossplane.io`. */
export const upboundProviders = providerGroup('*.upbound.io')
export const crossplaneProviders = providerGroup('*.crossplane.io')

/**
 * A package. Installed: the revision of the present package is active; Healthy: this revision is. Both may be those of
 * the previous package, which `currentIdentifier` shows. A package that cannot be fetched or unpacked is retried.
 */
function packageEntry(kind: string, revision: string, owned: CatalogueEntry['owns'] = []): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/internal/controller/pkg/manager/reconciler.go`,
    inProgress: 'status.currentIdentifier != spec.package',
    suspended: anyOf(
      isPaused,
      allOf("spec.?revisionActivationPolicy.orValue('') == 'Manual'", isFalse('Installed', 'InactivePackageRevision')),
    ),
    current: allOf(isTrue('Installed'), isTrue('Healthy')),
    cause: [messageOf('Installed'), messageOf('Healthy'), messageOf('Synced')],
    owns: [{ apiVersion: 'pkg.crossplane.io/v1', kind: revision }, ...owned],
  }
}

/** The revision of a package; a Provider and a Function also run a Deployment. An inactive revision does nothing. */
function revisionEntry(kind: string): CatalogueEntry {
  return {
    kind,
    documentation: `${source}/internal/controller/pkg/revision/reconciler.go`,
    suspended: isPaused,
    resume: resumeOf(kind.toLowerCase()),
    current: anyOf(
      "spec.desiredState == 'Inactive'",
      allOf(
        "status.conditions.exists(c, c.type.endsWith('Healthy'))",
        "status.conditions.all(c, !c.type.endsWith('Healthy') || c.status == 'True')",
      ),
    ),
    cause: [messageOf('RevisionHealthy'), messageOf('RuntimeHealthy'), messageOf('Healthy')],
    owns: kind === 'ConfigurationRevision' ? [] : [deployments, pods],
  }
}

export const crossplanePackages: CatalogueGroup = {
  group: 'pkg.crossplane.io',
  entries: [
    packageEntry('Provider', 'ProviderRevision', [deployments, pods]),
    packageEntry('Function', 'FunctionRevision', [deployments, pods]),
    packageEntry('Configuration', 'ConfigurationRevision'),
    ...['ProviderRevision', 'FunctionRevision', 'ConfigurationRevision'].map(revisionEntry),
  ],
}

/** Established: the CRD of the composite resources is served. Offered: that of the claims, if the definition has one. */
const definition: CatalogueEntry = {
  kind: 'CompositeResourceDefinition',
  documentation: `${source}/apis/apiextensions/v1/conditions.go`,
  suspended: isAnnotated('crossplane.io/paused', 'true'),
  resume: resumeOf('compositeresourcedefinition'),
  current: allOf(isTrue('Established'), anyOf('!has(spec.claimNames)', isTrue('Offered'))),
  cause: [messageOf('Established'), messageOf('Offered')],
}

export const crossplaneDefinitions: CatalogueGroup = { group: 'apiextensions.crossplane.io', entries: [definition] }

/** Work that ends. Succeeded is Unknown while it runs; a step that fails is repeated up to `retryLimit` times. */
const operation: CatalogueEntry = {
  kind: 'Operation',
  documentation: `${source}/internal/controller/ops/operation/reconciler.go`,
  suspended: isPaused,
  resume: resumeOf('operation.ops.crossplane.io'),
  failed: isFalse('Succeeded'),
  current: isTrue('Succeeded'),
  cause: [messageOf('Succeeded'), messageOf('Synced')],
}

export const crossplaneOperations: CatalogueGroup = { group: 'ops.crossplane.io', entries: [operation] }
