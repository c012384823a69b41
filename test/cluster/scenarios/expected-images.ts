import { deploymentComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { container, deployment, job, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', decidedBy: deploymentComplete('web') }

/** The registry serves this tag, so the node has the image with the registry's digest. */
const image = '127.0.0.1:5995/slow-0s/app:v1'

/** Rollouts with the input `expect-images`. */
export const expectedImages: Scenario[] = [
  ...readScenarios('expected-images'),
  {
    ...web,
    name: 'image-as-expected',
    setup: (fixture) => fixture.rollOut(deployment('web', { image, imagePullPolicy: 'Always' })),
    inputsFrom: (fixture) => ({ 'expect-images': `app=${digestIn(fixture)}` }),
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 6,
  },
  {
    ...web,
    // The `imageID` of an image that was loaded onto the node is its own ID.
    name: 'image-loaded-as-expected',
    setup: (fixture) => fixture.rollOut(deployment('web')),
    inputsFrom: (fixture) => ({ 'expect-images': `app=${digestIn(fixture)}` }),
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 6,
  },
  {
    ...web,
    // An image updater wrote the tag before the gate began.
    name: 'image-behind-a-tag',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: (fixture) => fixture.rollOut(deployment('web', { image, imagePullPolicy: 'Always' })),
    inputsFrom: (fixture) => ({ 'expect-images': `app=${digestIn(fixture)}` }),
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 6,
  },
  {
    ...web,
    // The Job and its pod are removed before the Deployment is ready.
    name: 'image-of-a-removed-job',
    inputs: { resources: 'job/migrate\ndeployment/web' },
    setup: async (fixture) => {
      const work = { ...container({ script: 'sleep 5', readiness: 'none' }), name: 'migrate' }
      await fixture.apply(
        job('migrate', '', { ttlSecondsAfterFinished: 1 }, { containers: [work] }),
        deployment('web', { script: slowStart(15) }),
      )
      await fixture.until('the pod of the Job runs', () => migrationDigest(fixture))
    },
    inputsFrom: (fixture) => ({ 'expect-images': `migrate=${migrationDigest(fixture)}` }),
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 18,
  },
]

/** The digest of the Job's image; undefined until its container has started. */
function migrationDigest({ informer }: Fixture): string | undefined {
  const pod = informer.all('Pod').find(({ metadata }) => metadata.name.startsWith('migrate-'))
  return pod?.['status'].containerStatuses?.[0].imageID.split('@').at(-1) || undefined
}

/** The digest in the `imageID` of a pod; a pulled image has `registry/app@sha256:…`. */
function digestIn({ informer }: Fixture): string {
  const [pod] = informer.all('Pod')
  return pod?.['status'].containerStatuses[0].imageID.split('@').at(-1)
}
