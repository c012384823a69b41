import type { EventObject, KubeObject, PersistentVolumeClaim, PodSpec } from '../../src/cluster/objects.ts'
import { pvcRule } from '../../src/lifecycle/platform/pvc.ts'
import { make, moment } from '../kit/objects.ts'
import { type ContextOptions, concerns, read, seenTarget } from '../kit/rule.ts'

function createClaim(phase: string, metadata: object = {}, spec: object = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop', uid: 'data-uid', ...metadata },
    spec: { storageClassName: 'fast', ...(phase === 'Bound' ? { volumeName: 'pv-1' } : {}), ...spec },
    status: { phase },
  }
}

function storageClass(volumeBindingMode: string): KubeObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    volumeBindingMode,
  } as KubeObject
}

function consumer(status: object = {}) {
  const spec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] } as Partial<PodSpec>
  return make.barePod({ spec, status: { phase: 'Pending', ...status } })
}

function judge(claim: PersistentVolumeClaim, objects: readonly KubeObject[] = [], options: ContextOptions = {}) {
  return read({ ...options, objects }, pvcRule, claim)
}

const late = storageClass('WaitForFirstConsumer')

describe('a PersistentVolumeClaim', () => {
  it('is ready when it is bound', () => {
    expect(judge(createClaim('Bound'))).toMatchObject({ status: 'ready', message: 'bound to pv-1' })
  })

  it('is ready although its volume is still being resized, with a note', () => {
    const conditions = [
      { type: 'FileSystemResizePending', status: 'True', message: 'Waiting for user to (re-)start a pod' },
      { type: 'Resizing', status: 'False' },
    ]
    const claim = { ...createClaim('Bound'), status: { phase: 'Bound', conditions } }
    expect(judge(claim)).toMatchObject({
      status: 'ready',
      notes: ['FileSystemResizePending is True: Waiting for user to (re-)start a pod'],
    })
  })

  it('is pending, with the message of its provisioner', () => {
    const claim = createClaim('Pending')
    const failed = make.event(claim, { reason: 'ProvisioningFailed', message: 'no such class' })
    expect(judge(claim, [storageClass('Immediate'), failed])).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'claim-pending', class: 'slow', message: 'is not bound: no such class' }],
    })
  })

  it('is pending, with the name of a provisioner outside of the binder, unless a failure is known', () => {
    const claim = createClaim('Pending')
    const waits = make.event(claim, {
      reason: 'ExternalProvisioning',
      message: "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually",
    })
    const failed = make.event(claim, { reason: 'ProvisioningFailed', message: 'no quota left' })
    const messageAfter = (...events: readonly EventObject[]) =>
      judge(claim, [storageClass('Immediate'), ...events]).problems.map(({ message }) => message)
    expect(messageAfter(waits)).toEqual(['is not bound: provisioner ebs.csi.aws.com has not created a volume yet'])
    expect(messageAfter(failed, waits)).toEqual(['is not bound: no quota left'])
  })

  it('is ready when it waits for its first consumer and nothing uses it', () => {
    expect(judge(createClaim('Pending'), [late])).toMatchObject({ status: 'ready', problems: [] })
  })

  it('is pending when it waits for its first consumer and a pod uses it', () => {
    expect(judge(createClaim('Pending'), [late, consumer()]).status).toBe('progressing')
  })

  it('is not used by a pod that has ended', () => {
    expect(judge(createClaim('Pending'), [late, consumer({ phase: 'Succeeded' })]).status).toBe('ready')
  })

  it('is used when a node was chosen for it', () => {
    const claim = createClaim('Pending', { annotations: { 'volume.kubernetes.io/selected-node': 'node-1' } })
    expect(judge(claim, [late]).status).toBe('progressing')
  })

  it('is used by the pod whose ephemeral volume it is', () => {
    const spec = { volumes: [{ name: 'data', ephemeral: {} }] } as Partial<PodSpec>
    const claim = createClaim('Pending', { name: 'once-data' })
    expect(judge(claim, [late, make.barePod({ spec })]).status).toBe('progressing')
  })

  it.each([
    ['WaitForFirstConsumer', 'ready'],
    ['WaitForPodScheduled', 'progressing'],
  ])('is judged by the binder’s %s where neither classes nor pods may be read', (reason, status) => {
    const claim = createClaim('Pending')
    const options = { unseen: ['Pod', 'StorageClass'] }
    expect(judge(claim, [make.event(claim, { reason })], options).status).toBe(status)
  })

  it('that names its volume waits for no consumer: the controller binds it as soon as the volume is there', () => {
    const claim = createClaim('Pending', {}, { volumeName: 'pv-7' })
    expect(judge(claim, [late])).toMatchObject({
      status: 'progressing',
      problems: [{ reason: 'claim-pending', message: 'is not bound to volume pv-7, which it names' }],
    })
    expect(judge(claim, [make.event(claim, { reason: 'WaitForFirstConsumer' })]).status).toBe('progressing')
  })

  it.each([
    ['VolumeMismatch', 'Cannot bind to requested volume "pv-7": requested PV is too small'],
    ['FailedBinding', 'volume "pv-7" already bound to a different claim.'],
  ])('that names its volume is pending, with the message of the event %s', (reason, message) => {
    const claim = createClaim('Pending', {}, { volumeName: 'pv-7' })
    expect(judge(claim, [late, make.event(claim, { reason, message })]).problems).toMatchObject([
      { reason: 'claim-pending', message: expect.stringContaining(message) },
    ])
  })

  it('fails when it has been Lost for 30 s: until then its volume may be restored', () => {
    const lost = createClaim('Lost', {}, { volumeName: 'pv-1' })
    const history = seenTarget([0, createClaim('Bound')], [40, lost])
    expect(judge(lost, [], { now: 69, history })).toMatchObject({
      status: 'progressing',
      recheckAt: moment(70),
      problems: [{ reason: 'claim-lost', class: 'terminal', proven: false }],
    })
    expect(judge(lost, [], { now: 70, history }).failure).toMatchObject({ reason: 'claim-lost', class: 'terminal' })
  })
})

test('a claim is assessed again when a pod that uses it or a class changes, and not for any other pod', () => {
  const isConcerned = (other: KubeObject) => concerns({}, pvcRule, createClaim('Pending'), other)
  expect(isConcerned(consumer())).toBe(true)
  expect(isConcerned(storageClass('Immediate'))).toBe(true)
  expect(isConcerned(make.barePod())).toBe(false)
})
