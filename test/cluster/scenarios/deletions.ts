import { readFileSync } from 'node:fs'
import type { ActionRun } from '../../support/runner.ts'
import { applyWidget, removeWidgetDefinition, widgetDefinition, widgetGroup } from '../custom-resources.ts'
import { type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'

const deleted = { outcome: 'failed', reason: 'deleted' }

/** The namespace is deleted: its controller starts 5 s later and deletes the pods first. */
function namespaceDeleted(rollout: Rollout): Scenario {
  return {
    name: `namespace-deleted-${rollout.name}`,
    inputs: { resources: 'deployment/web' },
    setup: (fixture) => fixture.apply(rollout.deployment),
    during: async (fixture) => {
      await release(fixture)
      await fixture.api.delete(`/api/v1/namespaces/${fixture.namespace}`)
      // The controller deletes the pods first, and the Deployment when they are gone (OrderedNamespaceDeletion).
      await fixture.informer.until('the Deployment is deleted', 120, (informer) => !informer.get('Deployment', 'web'))
      // A deleted object may be created again within 5 s.
      fixture.markDecided(5)
    },
    expect: deleted,
    takesSeconds: 16,
    isIdle: true,
    check: ({ log }, { namespace }) =>
      log.includes(`Namespace ${namespace} is being deleted`) || log.includes(`Namespace ${namespace} does not exist`)
        ? []
        : ['the hint does not name the deleted namespace'],
  }
}

/** The CustomResourceDefinition of one target is deleted; the other target is judged as usual. */
function definitionDeleted(rollout: Rollout): Scenario {
  return {
    name: `crd-deleted-${rollout.name}`,
    inputs: { 'fail-fast': 'false' },
    inputsFrom: (fixture) => ({ resources: `deployment/web\nwidgets.${widgetGroup(fixture)}/web` }),
    setup: async (fixture) => {
      await fixture.apply(widgetDefinition(fixture))
      await applyWidget(fixture, 'web')
      await fixture.apply(rollout.deployment)
    },
    during: async (fixture) => {
      await release(fixture)
      await removeWidgetDefinition(fixture)
      await untilDecided(fixture, rollout)
      fixture.markDecided()
    },
    after: removeWidgetDefinition,
    expect: deleted,
    takesSeconds: rollout.takesSeconds + 2,
    isIdle: true,
    check: (run) => [
      ...targetFailures(run, 'deployment.apps/web', rollout.expect),
      ...targetFailures(run, 'widget', deleted),
    ],
  }
}

/** Checks the outcome of the first target in the report whose name starts with `name`. */
function targetFailures({ outputs }: ActionRun, name: string, { outcome, reason = '' }: Scenario['expect']): string[] {
  const report = JSON.parse(readFileSync(outputs['report'] ?? '', 'utf8'))
  const targets: { target: string; outcome: string; reason?: string }[] = report.targets
  const target = targets.find((each) => each.target.startsWith(name))
  const isExpected = target?.outcome === outcome && (target.reason ?? '') === reason
  return isExpected
    ? []
    : [`${name} is ${target?.outcome ?? 'missing'} ${target?.reason ?? ''} instead of ${outcome} ${reason}`]
}

/** Rollouts whose namespace or custom resource definition is deleted. */
export const deletions: Scenario[] = rollouts.flatMap((rollout) => [
  namespaceDeleted(rollout),
  definitionDeleted(rollout),
])
