import { missingObject } from '../../src/lifecycle/missing.ts'

describe('what a pod lacks, by the words of its kubelet', () => {
  it.each([
    ['secret "database" not found', { kind: 'secret', name: 'database' }],
    ['configmap "settings" not found', { kind: 'configmap', name: 'settings' }],
    ["couldn't find key password in Secret shop/database", { kind: 'secret', name: 'database', key: 'password' }],
    [
      "couldn't find key log.level in ConfigMap shop/settings",
      { kind: 'configmap', name: 'settings', key: 'log.level' },
    ],
    ['MountVolume.SetUp failed for volume "v" : secret "nope" not found', { kind: 'secret', name: 'nope' }],
    [
      'MountVolume.SetUp failed for volume "v" : configmap references non-existent config key: k',
      { kind: 'configmap', key: 'k' },
    ],
    ['MountVolume.SetUp failed for volume "v" : references non-existent secret key: k', { kind: 'secret', key: 'k' }],
    ['MountVolume.SetUp failed for volume "v" : object "shop"/"settings" not registered', undefined],
    ['container has runAsNonRoot and image will run as root', undefined],
    ['persistentvolumeclaim "data" not found', undefined],
  ])('%s → %j', (message, missing) => {
    expect(missingObject(message)).toEqual(missing)
  })
})
