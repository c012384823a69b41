import { readFileSync } from 'node:fs'
import { pullRequestEnvironment } from '../github/action-contexts.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { make, podIs } from '../kit/objects.ts'
import { folder } from '../support/fresh-folder.ts'
import { server } from '../support/fresh-server.ts'
import { programPath } from '../support/program.ts'
import { startAction } from '../support/runner.ts'

const line = 'the database refuses somebody'
/** Not known from any object: found by its shape. Put together here, so that no scanner takes it for a leak. */
const token = `ghp_${'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEf'}`

let github: GitHubServer

beforeEach(async () => {
  github = await startGitHub()
  github.handlers.set('issues/list-comments', () => ({ status: 200, body: [] }))
  const pod = make.barePod({
    metadata: { name: 'migrate' },
    spec: { restartPolicy: 'Never' },
    status: { ...podIs.dead(1, 0), phase: 'Failed' },
  })
  server.apply(pod)
  server.setLog(
    { namespace: 'shop', pod: 'migrate', container: 'app' },
    `${line}\npostgres://shop:open-sesame@db/shop\nwith ${token}\nThe end: ${line}\n`,
  )
})

afterEach(async () => {
  await github.close()
})

/** What the action leaves in each place. */
async function shown({ isPrivate }: { isPrivate: boolean }) {
  const inputs = {
    kubeconfig: server.kubeconfig(),
    namespace: 'shop',
    resources: 'pod/migrate',
    'github-token': 'token-of-the-job',
    'report-to': 'comment',
  }
  const env = { ...pullRequestEnvironment(folder, github.url, { isPrivate }), NO_COLOR: '1' }
  const ended = await startAction(programPath('index.js'), folder, inputs, { env }).ended
  const bodiesOf = (path: string) =>
    JSON.stringify(github.requests.filter((each) => each.path.includes(path)).map(({ body }) => body))
  return {
    log: ended.log,
    summary: ended.summary,
    comment: bodiesOf('/comments'),
    report: readFileSync(ended.outputs['report'] ?? '', 'utf8'),
  }
}

const placesOf = (places: Readonly<Record<string, string>>, text: string) =>
  Object.keys(places).filter((place) => places[place]?.includes(text))

test('container logs are in the job log and the summary alone if the repository is public', async () => {
  const places = await shown({ isPrivate: false })
  expect(placesOf(places, line)).toEqual(['log', 'summary'])
  expect(placesOf(places, 'Shown in the job log and the job summary only')).toEqual(['comment', 'report'])
})

test('container logs are everywhere if the repository is private', async () => {
  expect(placesOf(await shown({ isPrivate: true }), line)).toEqual(['log', 'summary', 'comment', 'report'])
})

test('passwords in URLs and texts with the shape of a token are shown nowhere, also if this program prints them', async () => {
  const places = await shown({ isPrivate: true })
  expect([...placesOf(places, 'open-sesame'), ...placesOf(places, token)]).toEqual([])
  expect(placesOf(places, '@db/shop')).toEqual(['log', 'summary', 'comment', 'report'])
})
