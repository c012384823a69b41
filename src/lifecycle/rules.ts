import { groupOf } from '../cluster/store.ts'
import { deploymentRule } from './deployment.ts'
import { genericRule } from './generic.ts'
import { podRule } from './pod.ts'
import { replicaSetRule } from './replicaset.ts'
import type { Rule } from './rule.ts'

/** Kinds with rules of their own, by group and kind. */
const rules: ReadonlyMap<string, Rule> = new Map([
  ['apps/Deployment', deploymentRule],
  ['apps/ReplicaSet', replicaSetRule],
  ['/ReplicationController', replicaSetRule],
  ['/Pod', podRule],
])

/** The rule of a kind, whatever its version; the generic one for kinds without a rule of their own. */
export function ruleOf({ apiVersion, kind }: { apiVersion: string; kind: string }): Rule {
  return rules.get(`${groupOf(apiVersion)}/${kind}`) ?? genericRule
}
