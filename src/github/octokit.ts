import type { OutgoingHttpHeaders } from 'node:http'
import { Octokit } from '@octokit/core'
import { exchange } from '../cluster/client.ts'
import { agentFor, proxyFromEnvironment } from '../cluster/proxy.ts'
import { version } from '../version.ts'
import { isMoved } from './failure.ts'

/** A client of `GITHUB_API_URL` with the user's token. It uses the proxy of the environment and logs nothing. */
export function createOctokit(token: string, baseUrl = process.env['GITHUB_API_URL'] || 'https://api.github.com') {
  const ignore = () => {}
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  return new Octokit({ auth: token, baseUrl, userAgent: `rollout-gate/${version}`, log, request: { fetch: send, log } })
}

interface Request {
  readonly method: string
  readonly headers: OutgoingHttpHeaders
  readonly body?: string
  readonly signal?: AbortSignal
}

/** In place of `fetch`, which uses no proxy in Node 24 (`@actions/github` contains a second HTTP client for that). */
async function send(address: string, { body, ...options }: Request): Promise<Response> {
  const url = new URL(address)
  const proxy = proxyFromEnvironment(address, process.env)
  const agent = proxy === undefined ? {} : { agent: await agentFor(proxy, address) }
  const response = await exchange(url, { ...options, ...agent }, body)
  const { statusCode: status = 0, headers } = response
  if (isMoved(status)) {
    const target = new URL(headers.location ?? '', url)
    if (target.origin !== url.origin) throw new Error(`it redirects to ${target.origin}`)
    return send(target.href, { body, ...options })
  }
  const content = Buffer.concat(await response.toArray())
  return new Response(content.length === 0 ? null : content, { status, headers: headers as Record<string, string> })
}
