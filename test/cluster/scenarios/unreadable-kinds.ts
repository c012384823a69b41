import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { selfSignedCertificate } from '../../support/certificates.ts'
import { applyWidget, removeWidgetDefinition, widgetDefinition, widgetGroup } from '../custom-resources.ts'
import type { Fixture } from '../fixture.ts'
import { healthy, type Rollout, release, rollouts, untilDecided } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'

/** Breaks the conversion of Widgets: after that, they cannot be read as version 2. */
type BreakConversion = (fixture: Fixture) => Promise<void>

const webhook = (clientConfig: object) => ({ webhook: { clientConfig, conversionReviewVersions: ['v1'] } })

async function setConversion(fixture: Fixture, strategy: 'Webhook' | 'None', more: object): Promise<void> {
  const conversion = { strategy, webhook: null, ...more }
  await fixture.patch('CustomResourceDefinition', `widgets.${widgetGroup(fixture)}`, { spec: { conversion } })
}

const repair = (fixture: Fixture) => setConversion(fixture, 'None', {})

const unreachable: BreakConversion = (fixture) =>
  setConversion(fixture, 'Webhook', webhook({ url: 'https://127.0.0.1:1/convert' }))

const servers = new Map<Fixture, Server>()

/** The webhook answers every review with status 500. */
const answers500: BreakConversion = async (fixture) => {
  const { key, cert } = await selfSignedCertificate()
  const server = createServer({ key, cert }, (request, response) => {
    request.resume()
    response.writeHead(500).end('the database of the webhook is down')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  servers.set(fixture, server)
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/convert`
  await setConversion(fixture, 'Webhook', webhook({ url, caBundle: Buffer.from(cert).toString('base64') }))
}

async function removeWidgets(fixture: Fixture): Promise<void> {
  await repair(fixture)
  await removeWidgetDefinition(fixture)
  servers.get(fixture)?.close()
  servers.get(fixture)?.closeAllConnections()
  servers.delete(fixture)
}

const withWidget = (rollout: Rollout): Pick<Scenario, 'setup' | 'after'> & Pick<Scenario, 'isIdle'> => ({
  setup: async (fixture) => {
    await fixture.apply(widgetDefinition(fixture, ['v1', 'v2']))
    await applyWidget(fixture, 'web')
    await fixture.apply(rollout.deployment)
  },
  after: removeWidgets,
  isIdle: true,
})

const webAndWidget: Pick<Scenario, 'inputs' | 'inputsFrom'> = {
  inputs: {},
  inputsFrom: (fixture) => ({ resources: `deployment/web\nwidget.v2.${widgetGroup(fixture)}/web` }),
}

/** One kind cannot be read for a while after its object was ready. */
function untilRepaired(name: string, fault: string, breakConversion: BreakConversion, rollout: Rollout): Scenario {
  const isReady = rollout.expect.outcome === 'ready'
  return {
    ...webAndWidget,
    ...withWidget(rollout),
    name: `${name}-${rollout.name}`,
    documented: { fault, rollout: rollout.name },
    during: async (fixture) => {
      await breakConversion(fixture)
      await release(fixture)
      await untilDecided(fixture, rollout)
      if (isReady) {
        await fixture.wait(5)
        await repair(fixture)
      }
      fixture.markDecided()
    },
    expect: rollout.expect,
    // The API server itself retries the kind with a growing backoff.
    withinSeconds: 45,
    takesSeconds: rollout.takesSeconds + 20,
  }
}

/** Rollouts beside a custom resource that the API server cannot convert. */
export const unreadableKinds: Scenario[] = [
  ...rollouts.flatMap((rollout) => [
    untilRepaired(
      'kind-unreadable',
      'The conversion webhook of another target’s kind cannot be reached for a while.',
      unreachable,
      rollout,
    ),
    untilRepaired(
      'conversion-answers-500',
      'The conversion webhook of another target’s kind answers 500 for a while.',
      answers500,
      rollout,
    ),
  ]),
  {
    ...webAndWidget,
    ...withWidget(healthy),
    // The Deployment becomes ready, and the gate does not.
    name: 'conversion-answers-500-for-good',
    documented: {
      fault: 'The conversion webhook of another target’s kind answers 500 until the timeout.',
      rollout: 'healthy',
    },
    inputs: { timeout: '50s' },
    during: async (fixture) => {
      fixture.markDecided(50)
      await answers500(fixture)
      await release(fixture)
    },
    expect: { outcome: 'unknown', reason: 'api-unreachable' },
    contains: { message: [/^Widgets could not be read for \d+ s: /] },
    takesSeconds: 52,
  },
  ...rollouts.map(
    (rollout): Scenario => ({
      ...withWidget(rollout),
      // No target needs the kind.
      name: `conversion-answers-500-beside-${rollout.name}`,
      documented: { fault: 'The conversion webhook of a kind that is no target answers 500.', rollout: rollout.name },
      inputs: { resources: 'deployment/web' },
      during: async (fixture) => {
        await answers500(fixture)
        await release(fixture)
      },
      expect: rollout.expect,
      decidedBy: rollout.decidedBy,
      takesSeconds: rollout.takesSeconds,
    }),
  ),
]
