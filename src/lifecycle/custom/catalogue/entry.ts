/** The kinds of one API group, as its operator writes their status. Data: expressions in CEL and names, no code. */
export interface CatalogueGroup {
  /** `argoproj.io`; `*.aws.upbound.io` stands for every group with this suffix. */
  readonly group: string
  readonly entries: readonly CatalogueEntry[]
}

/**
 * How the status of a custom resource is read. The expressions are CEL over the object, as in the input `health-checks`:
 * one that reads a missing field is false. A status of an older generation is in progress, whatever they return;
 * otherwise `inProgress`, `suspended`, `failed` and `current` decide, in this order.
 */
export interface CatalogueEntry {
  /** Of any version of the group. */
  readonly kind: string
  /** The address of the source or documentation that the expressions rest on. */
  readonly documentation: string
  /** True when the object is ready. */
  readonly current: string
  /** True when the operator has given up, or reports a failure that it does not repair by itself. */
  readonly failed?: string
  /** True when the status is incomplete or old although its generation is current. */
  readonly inProgress?: string
  /** True when the operator does nothing until a person acts. */
  readonly suspended?: string
  /** The command that continues a suspended object; `{name}` and `{namespace}` are replaced. */
  readonly resume?: string
  /** True while the object itself states how long it takes, such as a timed pause: the stall clock stands still. */
  readonly stallHold?: string
  /** A text: the operator's own sentence about why the object is not ready. The first that exists is quoted. */
  readonly cause?: readonly string[]
  /** Stages between `observed` and `ready`, in order. The names are lower case words, and become a contract. */
  readonly milestones?: readonly { readonly name: string; readonly done: string }[]
  /** Kinds of the objects that it owns, directly or through each other, whose problems explain its own. */
  readonly owns?: readonly { readonly apiVersion: string; readonly kind: string }[]
  /** It runs pods as a workload does: a proven problem of its own pods fails it. */
  readonly isWorkload?: true
}
