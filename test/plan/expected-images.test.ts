import { parseExpectedImages } from '../../src/plan/expected-images.ts'

const digest = `sha256:${'0a'.repeat(32)}`

function read(text: string) {
  const mistakes: string[] = []
  return { expected: parseExpectedImages(text, (message) => mistakes.push(message)), mistakes }
}

describe('the images that are expected', () => {
  it('are one a line, by the name of the container', () => {
    const text = `\n# built above\napp=${digest}\n worker = ghcr.io/acme/worker@${digest}  # by its whole name\n`
    expect(read(text)).toEqual({ expected: { app: digest, worker: digest }, mistakes: [] })
  })

  it.each([
    ['app', `"app" is no container with its digest. Write container=sha256:… with 64 hexadecimal digits.`],
    ['app=v1', `"app=v1" is no container with its digest. Write container=sha256:… with 64 hexadecimal digits.`],
    [`app=${digest}\napp=${digest}`, 'The container app is given twice. Keep one of them.'],
  ])('are complained of: %s', (text, mistake) => {
    expect(read(text).mistakes).toEqual([mistake])
  })
})
