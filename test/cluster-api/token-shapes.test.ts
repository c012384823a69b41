import { PrivateKeyRedactor } from '../../src/cluster/secret-values.ts'
import { Secrets } from '../../src/cluster/secrets.ts'

const { redact } = new Secrets()

/** Made up, and put together here: a scanner must not take this file for a leak. */
const letters = 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEf'
const blockOf = (kind: string) => [`-----BEGIN ${kind}-----`, letters, letters, `-----END ${kind}-----`]

test.each([
  ['a GitHub token', `ghp_${letters}`],
  ['a GitHub App token of several parts', `ghs_${letters}.${letters}.${letters}`],
  ['a fine-grained GitHub token', `github_pat_${letters}_${letters}`],
  ['a GitLab token', `glpat-${letters}`],
  ['an AWS access key', `AKIA${'ABCDEFGHIJKLMNOP'}`],
  ['a JWT', `eyJhbGciOiJub25lIn0.${letters}.${letters}`],
  ['a Slack token', `xoxb-123456789012-${letters}`],
  ['a Slack webhook', `hooks.slack.com/services/T000/B000/${letters}`],
  ['a Google API key', `AIza${letters.slice(0, 35)}`],
  ['an npm token', `npm_${letters.slice(0, 36)}`],
  ['a Docker token', `dckr_pat_${letters}`],
  ['a Vault token', `hvs.${letters}`],
  ['a Stripe key', `sk_live_${letters}`],
  ['an API key of a language model', `sk-ant-api03-${letters}`],
  ['an Azure storage key', `${letters}${letters}==`, 'AccountName=x;AccountKey='],
  ['a bearer token', letters, 'Authorization: Bearer '],
  ['basic authentication', 'dXNlcjpwYXNzd29yZA==', 'Authorization: Basic '],
  ['a password in a URL', 'open-sesame', 'postgres://user:', '@db:5432/shop'],
  ['a password with special characters in a URL', 'o/p@n?s:#', 'amqp://user:', '@mq'],
  ['a password in a URL without a user', 'open-sesame', 'redis://:', '@cache'],
  ['a password in a cut URL', 'open-ses', 'invalid: "postgres://user:', '…"'],
  ['a token in the query of a URL', 'open-sesame', 'https://api.example/v1?user=jo&access_token=', '&page=2'],
  ['the signature of a URL', letters, 'https://shop.blob.example/file?sv=2024&sig=', ' is expired'],
])('%s is replaced', (_, secret, before = 'token ', after = ' is invalid') => {
  expect(redact(`${before}${secret}${after}`)).toBe(`${before}***${after}`)
})

test('a private key is replaced even if it is cut', () => {
  for (const kind of ['PRIVATE KEY', 'RSA PRIVATE KEY', 'OPENSSH PRIVATE KEY', 'PGP PRIVATE KEY BLOCK']) {
    expect(redact(['a', ...blockOf(kind), 'b'].join('\n'))).toBe('a\n***\nb')
    expect(redact(['a', ...blockOf(kind).slice(0, 2)].join('\n'))).toBe('a\n***')
    for (const between of ['\n', '\n       ', ' '])
      expect(redact([...blockOf(kind).slice(1), 'b'].join(between))).toBe(`***${between}b`)
  }
})

test.each([
  ['a certificate', blockOf('CERTIFICATE').join('\n')],
  ['a URL with a port and an address', 'http://web:8080/users?mail=a@b.example'],
  ['a URL with a cut port', 'http://web:8080…'],
  ['a shortened ID', 'docker://sha256:0123456789ab…89abcdef'],
  ['a URL without a password', 'https://user@web.example/path'],
  ['an image with a digest', `registry.example:5000/shop/web@sha256:${'0123456789abcdef'.repeat(4)}`],
  ['a pod name', 'pod/sk-learn-training-7f9c4d5b6d-abcde'],
  ['a commit hash', 'b4dac905c9393a97b511845a8d1a29b417026548'],
  ['a sentence', 'Basic authentication is required; the bearer token is missing'],
])('%s stays', (_, text) => {
  expect(redact(text)).toBe(text)
})

test('a private key in several lines is replaced, and the following lines stay', () => {
  const lines = new PrivateKeyRedactor()
  const shown = ['start', ...blockOf('RSA PRIVATE KEY'), 'ready'].map((line) => redact(lines.redact(line)))
  expect(shown).toEqual(['start', '***', '***', '***', '***', 'ready'])
})

test('a private key without an end hides only as many lines as a key has', () => {
  const lines = new PrivateKeyRedactor()
  lines.redact('-----BEGIN PRIVATE KEY-----')
  const shown = Array.from({ length: 300 }, () => lines.redact('working'))
  expect(shown.filter((line) => line === 'working')).toHaveLength(50)
})
