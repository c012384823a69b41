import { isObject } from '../cluster/objects.ts'
import type { Hook } from './target.ts'

/** The annotations of each tool that runs hooks: at which events it runs a hook, and when it removes the object. */
const tools = [
  { events: 'helm.sh/hook', removal: 'helm.sh/hook-delete-policy' },
  { events: 'argocd.argoproj.io/hook', removal: 'argocd.argoproj.io/hook-delete-policy' },
] as const

/** Events that are no part of a deploy, in lower case (helm.sh/helm pkg/release, `HookEvent`; argoproj gitops-engine `HookType`). */
const otherEvents: ReadonlySet<string> = new Set([
  ...['test', 'test-success', 'test-failure', 'pre-delete', 'post-delete', 'pre-rollback', 'post-rollback'],
  ...['predelete', 'postdelete', 'syncfail', 'skip'],
])
/** The policies by which a tool removes a hook that has succeeded. Without a policy it removes a hook before its next run. */
const removalPolicies: ReadonlySet<string> = new Set(['hook-succeeded', 'hooksucceeded'])

/**
 * Reads the annotations of Helm and Argo CD that make an object a hook.
 * @param annotations `metadata.annotations`, not yet validated
 * @returns undefined for an object that is no hook
 */
export function readHook(annotations: unknown): Hook | undefined {
  const written = isObject(annotations) ? annotations : {}
  const wordsOf = (key: string) =>
    String(written[key] ?? '')
      .split(',')
      .map((word) => word.trim().toLowerCase())
  const describe = (key: string) => `${key}=${written[key]}`
  const used = tools.filter(({ events }) => written[events] !== undefined)
  if (used.length === 0) return undefined
  const removing = tools.find(({ removal }) => wordsOf(removal).some((word) => removalPolicies.has(word)))
  const isSkipped = used.every(({ events }) => wordsOf(events).every((word) => otherEvents.has(word)))
  return {
    annotation: used.map(({ events }) => describe(events)).join(', '),
    ...(removing && { removal: describe(removing.removal) }),
    ...(isSkipped && { isSkipped }),
  }
}
