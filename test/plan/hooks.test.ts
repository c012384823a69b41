import { readHook } from '../../src/plan/hooks.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'

const helm = (events: string) => ({ 'helm.sh/hook': events })
const argo = (events: string) => ({ 'argocd.argoproj.io/hook': events })
const policy = (policies: string) => ({ 'helm.sh/hook-delete-policy': policies })
const argoPolicy = (policies: string) => ({ 'argocd.argoproj.io/hook-delete-policy': policies })

it.each([
  helm('test'),
  helm('test-success'),
  helm('test-failure,test'),
  helm('pre-delete'),
  helm('pre-delete, post-delete'),
  helm('post-rollback'),
  helm('Test'),
  argo('Skip'),
  argo('SyncFail'),
  argo('PreDelete,PostDelete'),
  { ...helm('test'), ...argo('Skip') },
])('a hook that no deploy runs is skipped: %j', (annotations) => {
  expect(readHook(annotations)).toMatchObject({ isSkipped: true })
})

it.each([
  helm('pre-install'),
  helm('pre-upgrade,pre-delete'),
  helm('post-install,test'),
  helm('crd-install'),
  helm('pre-upgrad'),
  argo('PreSync'),
  argo('Sync,Skip'),
  argo('PostSync'),
  { ...helm('post-install'), ...argo('Skip') },
])('a hook that a deploy runs is a target: %j', (annotations) => {
  expect(readHook(annotations)).toEqual({ annotation: expect.any(String) })
})

it.each([undefined, null, [], 'x', {}, policy('hook-succeeded'), argoPolicy('HookSucceeded')])(
  'an object without the annotation of a hook is none: %j',
  (annotations) => {
    expect(readHook(annotations)).toBeUndefined()
  },
)

it.each([
  [{ ...helm('pre-upgrade'), ...policy('hook-succeeded') }, 'helm.sh/hook-delete-policy=hook-succeeded'],
  [
    { ...helm('pre-upgrade'), ...policy('before-hook-creation, Hook-Succeeded') },
    'helm.sh/hook-delete-policy=before-hook-creation, Hook-Succeeded',
  ],
  [
    { ...argo('PreSync'), ...argoPolicy('HookSucceeded,HookFailed') },
    'argocd.argoproj.io/hook-delete-policy=HookSucceeded,HookFailed',
  ],
  [{ ...helm('post-install'), ...argoPolicy('HookSucceeded') }, 'argocd.argoproj.io/hook-delete-policy=HookSucceeded'],
])('a hook that its tool removes after success names the policy: %j', (annotations, removal) => {
  expect(readHook(annotations)).toMatchObject({ removal })
})

it.each([
  helm('pre-upgrade'),
  { ...helm('pre-upgrade'), ...policy('before-hook-creation') },
  { ...helm('pre-upgrade'), ...policy('hook-failed') },
  { ...argo('PreSync'), ...argoPolicy('BeforeHookCreation') },
])('a hook that stays after success has no policy of removal: %j', (annotations) => {
  expect(readHook(annotations)?.removal).toBeUndefined()
})

const job = (metadata: object) => JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata })

it('a hook that no deploy runs is a notice, with and without a generated name', () => {
  const text = [
    job({ name: 'a', annotations: helm('test') }),
    job({ generateName: 'b-', annotations: argo('Skip') }),
    job({ generateName: 'c-', annotations: argo('PreSync') }),
  ].join('\n')
  expect(parseManifests(text, 'a.yaml').skipped).toEqual([
    { file: 'a.yaml', line: 1, text: 'job/a', why: 'no deploy runs this hook: helm.sh/hook=test' },
    { file: 'a.yaml', line: 2, text: 'job/b-…', why: 'no deploy runs this hook: argocd.argoproj.io/hook=Skip' },
    expect.objectContaining({ line: 3, hasGeneratedName: true }),
  ])
})
