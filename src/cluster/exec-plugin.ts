import { execFile } from 'node:child_process'
import { cutText, removeFinalPunctuation, toOneLine, tryParseJson, UserError } from '../errors.ts'
import { credentialPluginMs } from '../thresholds.ts'

/* Runs the credential plugin of a kubeconfig (`exec`). */

/** The maximum length of the plugin's output in an error message, in characters. */
const outputLimit = 500

/** The `exec` section of a user in a kubeconfig (client.authentication.k8s.io/v1). */
export interface ExecPlugin {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null
  readonly apiVersion?: string
  readonly installHint?: string
  readonly interactiveMode?: string
  readonly provideClusterInfo?: boolean
}

export interface ExecCredential {
  readonly token?: string
  readonly certificate?: string
  readonly key?: string
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
}

/**
 * Runs a credential plugin as kubectl does
 * (kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins), with a time limit and
 * without a terminal. client-node's runner does not do this, so some plugins fail or never end. Rejects with a `UserError`
 * that names the plugin and a remedy, or with the reason of the aborted signal.
 */
export function runExecPlugin(
  plugin: ExecPlugin,
  cluster: object,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<ExecCredential> {
  const { command } = plugin
  if (plugin.interactiveMode === 'Always') {
    throw credentialsMistake(
      `The kubeconfig's credential program "${command}" requires a terminal (interactiveMode: Always).`,
    )
  }
  return new Promise((resolve, reject) => {
    const options = {
      env: pluginEnvironment(plugin, cluster, env),
      timeout: credentialPluginMs,
      signal,
      killSignal: 'SIGKILL' as const,
      maxBuffer: 4 << 20,
      windowsHide: true,
    }
    const child = execFile(command, [...(plugin.args ?? [])], options, (error, stdout, stderr) => {
      if (signal.aborted) reject(signal.reason)
      else if (error) reject(explainPluginError(error, plugin, stderr))
      else {
        try {
          resolve(parseCredential(command, stdout))
        } catch (failure) {
          reject(failure)
        }
      }
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end()
  })
}

/**
 * Environment variables that a credential plugin does not receive: the action's inputs, which may contain tokens, and
 * GitHub's tokens. A workflow step that runs kubectl does not have these variables either.
 */
const hiddenVariable = /^(?:INPUT_.*|STATE_.*|GITHUB_TOKEN|GH_TOKEN|ACTIONS_RUNTIME_TOKEN)$/

function pluginEnvironment(plugin: ExecPlugin, cluster: object, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const info = {
    apiVersion: plugin.apiVersion ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false, ...(plugin.provideClusterInfo ? { cluster } : {}) },
  }
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !hiddenVariable.test(name))),
    ...Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value])),
    KUBERNETES_EXEC_INFO: JSON.stringify(info),
  }
}

function explainPluginError(
  error: Error & { code?: unknown; killed?: boolean },
  plugin: ExecPlugin,
  stderr: string,
): UserError {
  const { command, installHint } = plugin
  const hint = installHint ? ` The kubeconfig's hint: ${toOneLine(installHint)}` : ''
  if (error.code === 'ENOENT' || error.code === 'EACCES') {
    return new UserError([
      {
        input: 'kubeconfig',
        message:
          `The kubeconfig gets its credentials from the program "${command}", which ` +
          `${error.code === 'ENOENT' ? 'is not installed on this machine' : 'may not be executed'}. ` +
          `Install it in a step before this one, or use a kubeconfig that contains a token.${hint}`,
      },
    ])
  }
  if (error.killed) {
    return credentialsMistake(
      `The kubeconfig's credential program "${command}" did not end within ${credentialPluginMs / 1000} s: ` +
        `does it wait for a login? Log in to the cloud in a step before this one.`,
    )
  }
  const output = removeFinalPunctuation(toOneLine(lastLines(stderr.trim())))
  return credentialsMistake(
    `The kubeconfig's credential program "${command}" failed${typeof error.code === 'number' ? ` with exit code ${error.code}` : ''}` +
      `${output ? `: ${output}` : ''}. Log in to the cloud in a step before this one.`,
  )
}

/** The last whole lines of an output. A longer last line keeps its start: redaction finds secrets by their start. */
function lastLines(output: string): string {
  if (output.length <= outputLimit) return output
  const lineEnd = output.indexOf('\n', output.length - outputLimit)
  return lineEnd < 0 ? cutText(output.slice(output.lastIndexOf('\n') + 1), outputLimit) : output.slice(lineEnd + 1)
}

/** Reads the credential that a plugin prints. Error messages must not quote this output. */
function parseCredential(command: string, stdout: string): ExecCredential {
  const answer = tryParseJson(stdout)
  if (answer === undefined)
    throw credentialsMistake(`The kubeconfig's credential program "${command}" printed something that is not JSON.`)
  const textField = (name: string) => {
    const value = Object(Object(answer).status)[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const token = textField('token')
  const certificate = textField('clientCertificateData')
  const key = textField('clientKeyData')
  if (token === undefined && certificate === undefined) {
    throw credentialsMistake(
      `The kubeconfig's credential program "${command}" printed neither a token nor a certificate.`,
    )
  }
  const expiresAt = Date.parse(textField('expirationTimestamp') ?? '')
  return { token, certificate, key, expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt }
}

function credentialsMistake(message: string): UserError {
  return new UserError([{ input: 'kubeconfig', message }], 'credentials-expired')
}
