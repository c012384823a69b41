/** Made from the code by `npm run docs`. */

export type RolloutGateRecordingLine = Header | Event
export type Event =
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'DISCOVERY'
      resources: ApiResource[]
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'ADDED' | 'MODIFIED' | 'DELETED'
      object: KubeObject1
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'SYNCED'
      apiVersion: string
      kind: string
      /**
       * Absent: all namespaces, or a cluster-wide kind
       */
      namespace?: string
      /**
       * Present if only this object is watched
       */
      name?: string
      /**
       * Present if only objects with these labels are watched
       */
      labelSelector?: string
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'ERROR'
      /**
       * The HTTP status; 0 without an answer
       */
      code: number
      message: string
      /**
       * Absent if this concerns every watch
       */
      apiVersion?: string
      kind?: string
      /**
       * Absent: all namespaces, or a cluster-wide kind
       */
      namespace?: string
      /**
       * Present if only this object is watched
       */
      name?: string
      /**
       * Present if only objects with these labels are watched
       */
      labelSelector?: string
      /**
       * When the watch last succeeded
       */
      lastSuccessAt?: string
      /**
       * The credentials were refused, read again, and refused again
       */
      final?: boolean
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'ALIVE'
      /**
       * Absent if this concerns every watch
       */
      apiVersion?: string
      kind?: string
      /**
       * Absent: all namespaces, or a cluster-wide kind
       */
      namespace?: string
      /**
       * Present if only this object is watched
       */
      name?: string
      /**
       * Present if only objects with these labels are watched
       */
      labelSelector?: string
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'LOG'
      namespace: string
      pod: string
      container: string
      /**
       * Whether this is the log of the run before the last restart
       */
      previous: boolean
      text: string
      /**
       * Why the log could not be read
       */
      why?: string
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'ANSWER'
      /**
       * Index of the line in the input `http-checks`, counted from 0
       */
      check: number
      /**
       * The pod that was asked
       */
      pod: string
      namespace?: string
      /**
       * The HTTP status
       */
      status?: number
      /**
       * How long the answer took
       */
      seconds?: number
      /**
       * The first 200 characters of the body, redacted
       */
      body?: string
      /**
       * Whether the body contains the text of `--expect-body`
       */
      matches?: boolean
      /**
       * Why there is no answer
       */
      error?: string
      /**
       * Where a redirect leads
       */
      location?: string
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'CANCEL'
    }
  | {
      /**
       * When this was observed, in UTC, ISO 8601
       */
      at: string
      type: 'END'
    }

export interface Header {
  recording: 'rollout-gate/v1'
  /**
   * A moment in UTC, ISO 8601
   */
  startedAt: string
  /**
   * The version of the API server
   */
  server: string
  /**
   * The context of the kubeconfig
   */
  context: string
  /**
   * The server's clock minus this machine's
   */
  serverOffsetMs: number
  /**
   * The inputs as written, without defaults and credentials
   */
  inputs: {
    [k: string]: string | number | boolean | (string | number | boolean)[]
  }
  /**
   * What the inputs selected
   */
  targets?: Target[]
}
export interface Target {
  apiVersion: string
  kind: string
  namespace?: string
  /**
   * Empty when a selector matched nothing
   */
  name: string
  /**
   * The selector that matched nothing
   */
  selector?: string
  /**
   * Its own clocks, in milliseconds; 0 is off
   */
  clocks: {
    timeoutMs?: number
    stallTimeoutMs?: number
    requireChangeMs?: number
    milestoneTimeoutsMs?: {
      [k: string]: number
    }
  }
  /**
   * The revisions that its operator must have deployed
   */
  revisions?: {
    source?: string
    revision: string
    /**
     * Commits of the checkout before it
     */
    older?: string[]
    /**
     * Commits of the checkout after it
     */
    newer?: string[]
  }[]
  /**
   * What `--for` waits for
   */
  waitFor?:
    | {
        type: 'condition'
        condition: string
        status: string
      }
    | {
        type: 'jsonpath'
        path: string
        value?: string
      }
    | {
        type: 'create' | 'delete'
      }
  manifest?: KubeObject
  /**
   * What kubectl printed about it: `unchanged`, `configured`
   */
  applied?: string
  /**
   * The annotation that makes it a hook of Helm or Argo CD
   */
  hook?: {
    annotation: string
    /**
     * The annotation by which its tool removes it after success
     */
    removal?: string
  }
  /**
   * The place that names it: a manifest, or the input `resources`
   */
  source?: {
    file: string
    line: number
  }
  [k: string]: unknown
}
/**
 * What its manifest contains, without secrets
 */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    [k: string]: unknown
  }
  [k: string]: unknown
}
export interface ApiResource {
  group: string
  version: string
  kind: string
  plural: string
  singular?: string
  shortNames?: string[]
  categories?: string[]
  namespaced: boolean
  /**
   * Whether it has a status subresource
   */
  status: boolean
  verbs?: string[]
}
/**
 * The object as the API server returned it, after redaction
 */
export interface KubeObject1 {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    [k: string]: unknown
  }
  [k: string]: unknown
}
