import { parseManifests, readHook } from '../../src/plan/read-manifests.ts'
import { rows, titled } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const helm = (events: string) => ({ 'helm.sh/hook': events })
const argo = (events: string) => ({ 'argocd.argoproj.io/hook': events })
const policy = (policies: string) => ({ 'helm.sh/hook-delete-policy': policies })
const argoPolicy = (policies: string) => ({ 'argocd.argoproj.io/hook-delete-policy': policies })

it.each(titled(rows<object>(data, 'a hook that no deploy runs is skipped')))(
  'a hook that a deploy does not run is skipped: %s',
  (_, annotations) => {
    expect(readHook(annotations)).toMatchObject({ isSkipped: true })
  },
)

it.each(titled(rows<object>(data, 'a hook that a deploy runs is a target')))(
  'a hook that a deploy runs is a target: %s',
  (_, annotations) => {
    expect(readHook(annotations)).toEqual({ annotation: expect.any(String) })
  },
)

it.each(titled([undefined, [], 'x', {}, policy('hook-succeeded'), argoPolicy('HookSucceeded')]))(
  'annotations without a hook make no hook: %s',
  (_, annotations) => {
    expect(readHook(annotations)).toBeUndefined()
  },
)

it.each(
  titled(rows<[object, string]>(data, 'a hook that its tool removes after success names the policy'), ([hook]) => hook),
)('a hook that is removed after success has the policy as its removal: %s', (_, [annotations, removal]) => {
  expect(readHook(annotations)).toMatchObject({ removal })
})

it.each(
  titled([
    helm('pre-upgrade'),
    { ...helm('pre-upgrade'), ...policy('before-hook-creation') },
    { ...helm('pre-upgrade'), ...policy('hook-failed') },
    { ...argo('PreSync'), ...argoPolicy('BeforeHookCreation') },
  ]),
)('a hook that stays after success has no removal: %s', (_, annotations) => {
  expect(readHook(annotations)?.removal).toBeUndefined()
})

const jobText = (metadata: object) => JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata })

it('a hook that a deploy does not run has a notice, with or without a generated name', () => {
  const text = [
    jobText({ name: 'a', annotations: helm('test') }),
    jobText({ generateName: 'b-', annotations: argo('Skip') }),
    jobText({ generateName: 'c-', annotations: argo('PreSync') }),
  ].join('\n')
  expect(parseManifests(text, 'a.yaml').skipped).toEqual([
    { place: { input: 'a.yaml', line: 1 }, text: 'job/a', why: 'no deploy runs this hook: helm.sh/hook=test' },
    {
      place: { input: 'a.yaml', line: 2 },
      text: 'job/b-…',
      why: 'no deploy runs this hook: argocd.argoproj.io/hook=Skip',
    },
    expect.objectContaining({ place: { input: 'a.yaml', line: 3 }, hasGeneratedName: true }),
  ])
})
