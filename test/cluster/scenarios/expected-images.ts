import { deploymentComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', decidedBy: deploymentComplete('web') }

/** The registry serves this tag, so the node has the image with the registry's digest. */
const image = '127.0.0.1:5995/slow-0s/app:v1'
const other = `sha256:${'0'.repeat(64)}`

/** Rollouts with the input `expect-images`. */
export const expectedImages: Scenario[] = [
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
    name: 'image-not-as-expected',
    inputs: { ...web.inputs, 'expect-images': `app=${other}` },
    setup: (fixture) => fixture.apply(deployment('web', { image, imagePullPolicy: 'Always' })),
    expect: { outcome: 'failed', reason: 'image-mismatch' },
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
    name: 'image-loaded-not-as-expected',
    inputs: { ...web.inputs, 'expect-images': `app=${other}` },
    setup: (fixture) => fixture.apply(deployment('web')),
    expect: { outcome: 'failed', reason: 'image-mismatch' },
    takesSeconds: 6,
  },
]

/** The digest in the `imageID` of a pod; a pulled image has `registry/app@sha256:…`. */
function digestIn({ informer }: Fixture): string {
  const [pod] = informer.all('Pod')
  return pod?.['status'].containerStatuses[0].imageID.split('@').at(-1)
}
