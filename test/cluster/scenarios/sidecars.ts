import { conditionTrue, containerDied, deploymentComplete } from '../cluster-states.ts'
import { type ContainerOptions, container, deployment, job, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web' }
const isReady = { outcome: 'ready', reason: '' }

/** Sidecars: init containers with `restartPolicy: Always`. */
export const sidecars: Scenario[] = [
  {
    ...web,
    name: 'sidecar-crashes',
    setup: (fixture) => fixture.apply(deployment('web', {}, withSidecar({ script: 'echo no certificate; exit 3' }))),
    expect: { outcome: 'failed', reason: 'crash-loop' },
    decidedBy: containerDied(3),
    takesSeconds: 35,
    contains: { message: ['container proxy'], summary: ['no certificate'] },
  },
  {
    ...web,
    name: 'sidecar-starts-slowly',
    setup: (fixture) => {
      const startupProbe = { exec: { command: ['test', '-e', '/up'] }, periodSeconds: 1, failureThreshold: 30 }
      const script = 'sleep 8; touch /up; exec sleep infinity'
      return fixture.apply(deployment('web', {}, withSidecar({ script, startupProbe })))
    },
    expect: isReady,
    decidedBy: deploymentComplete('web'),
    takesSeconds: 14,
  },
  {
    name: 'job-with-a-sidecar',
    inputs: { resources: 'job/migrate' },
    setup: (fixture) =>
      fixture.apply(job('migrate', 'sleep 2', {}, { initContainers: [sidecar({ script: 'exec sleep infinity' })] })),
    expect: isReady,
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 8,
  },
  {
    name: 'job-with-a-sidecar-fails',
    inputs: { resources: 'job/migrate' },
    setup: (fixture) =>
      fixture.apply(
        job(
          'migrate',
          'sleep 1; echo no such table; exit 3',
          { backoffLimit: 0 },
          {
            initContainers: [sidecar({ script: 'exec sleep infinity' })],
          },
        ),
      ),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
    contains: { message: ['container app'], summary: ['no such table'] },
  },
]

function sidecar(options: ContainerOptions): object {
  return { ...container({ readiness: 'none', ...options }), name: 'proxy', restartPolicy: 'Always' }
}

function withSidecar(options: ContainerOptions): object {
  return template('web', {}, { initContainers: [sidecar(options)] })
}
