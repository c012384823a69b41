import { deploymentComplete } from '../facts.ts'
import { deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', decidedBy: deploymentComplete('web') }

/** A tag that the registry serves, so that the node knows the image by the registry's digest. */
const image = '127.0.0.1:5995/slow-0s/app:v1'
const other = `sha256:${'0'.repeat(64)}`

/** Rollouts that are ready only with the images that the workflow built. */
export const digests: Scenario[] = [
  {
    ...web,
    name: 'image-as-expected',
    setup: (stage) => stage.rollOut(deployment('web', { image, imagePullPolicy: 'Always' })),
    inputsFrom: (stage) => ({ 'expect-images': `app=${digestIn(stage)}` }),
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 6,
  },
  {
    ...web,
    name: 'image-not-as-expected',
    inputs: { ...web.inputs, 'expect-images': `app=${other}` },
    setup: (stage) => stage.apply(deployment('web', { image, imagePullPolicy: 'Always' })),
    expect: { outcome: 'failed', reason: 'image-mismatch' },
    takesSeconds: 6,
  },
  {
    ...web,
    // What was loaded onto a node is known there by its own ID alone.
    name: 'image-loaded-as-expected',
    setup: (stage) => stage.rollOut(deployment('web')),
    inputsFrom: (stage) => ({ 'expect-images': `app=${digestIn(stage)}` }),
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 6,
  },
  {
    ...web,
    name: 'image-loaded-not-as-expected',
    inputs: { ...web.inputs, 'expect-images': `app=${other}` },
    setup: (stage) => stage.apply(deployment('web')),
    expect: { outcome: 'failed', reason: 'image-mismatch' },
    takesSeconds: 6,
  },
]

/** The digest by which the node knows the image: `registry/app@sha256:…` when it was pulled. */
function digestIn({ view }: Stage): string {
  const [pod] = view.all('Pod')
  return pod?.['status'].containerStatuses[0].imageID.split('@').at(-1)
}
