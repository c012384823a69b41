import type { Fixture } from '../fixture.ts'
import { container, deployment, scriptJob, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Rollouts with the input `expect-images`. */
export const expectedImages: Scenario[] = readScenarios('expected-images', {
  'image-as-expected': {
    inputsFrom: (fixture) => ({ 'expect-images': `app=${digestIn(fixture)}` }),
  },
  'image-loaded-as-expected': {
    inputsFrom: (fixture) => ({ 'expect-images': `app=${digestIn(fixture)}` }),
  },
  'image-behind-a-tag': {
    inputsFrom: (fixture) => ({ 'expect-images': `app=${digestIn(fixture)}` }),
  },
  'image-of-a-removed-job': {
    setup: async (fixture) => {
      const work = { ...container({ script: 'sleep 5', readiness: 'none' }), name: 'migrate' }
      await fixture.apply(
        scriptJob('migrate', '', { ttlSecondsAfterFinished: 1 }, { containers: [work] }),
        deployment('web', { script: slowStart(15) }),
      )
      await fixture.until('the pod of the Job runs', () => migrationDigest(fixture))
    },
    inputsFrom: (fixture) => ({ 'expect-images': `migrate=${migrationDigest(fixture)}` }),
  },
})

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
