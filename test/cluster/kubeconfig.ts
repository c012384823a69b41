import { parse, stringify } from 'yaml'

/** The kubeconfig with this token as the only credential of every user. */
export function withToken(kubeconfig: string, token: string): string {
  return withUser(kubeconfig, { token })
}

/** The kubeconfig with this credential as the only one of every user: a `token`, a `tokenFile`, an `exec` section. */
function withUser(kubeconfig: string, user: object): string {
  const config = parse(kubeconfig)
  for (const entry of config.users) entry.user = user
  return stringify(config)
}

/** The kubeconfig whose credential is read from a file before each request. */
export function withTokenFile(kubeconfig: string, tokenFile: string): string {
  return withUser(kubeconfig, { tokenFile })
}

/** The kubeconfig whose credential is what a program prints. */
export function withCredentialProgram(kubeconfig: string, command: string, args: readonly string[]): string {
  const apiVersion = 'client.authentication.k8s.io/v1'
  return withUser(kubeconfig, { exec: { apiVersion, command, args, interactiveMode: 'Never' } })
}

/** The kubeconfig with another port in the address of every cluster. */
export function withPort(kubeconfig: string, port: number): string {
  const config = parse(kubeconfig)
  for (const { cluster } of config.clusters) {
    const url = new URL(cluster.server)
    url.port = String(port)
    cluster.server = url.origin
  }
  return stringify(config)
}

/** The kubeconfig whose servers are reached through an HTTP proxy. */
export function withProxy(kubeconfig: string, proxy: string): string {
  const config = parse(kubeconfig)
  for (const { cluster } of config.clusters) cluster['proxy-url'] = proxy
  return stringify(config)
}

/** Host and port of the API server of the current context. */
export function serverOf(kubeconfig: string): { host: string; port: number } {
  const config = parse(kubeconfig)
  // biome-ignore lint/suspicious/noExplicitAny: the entries of kubeconfig lists have different fields
  const byName = (entries: any[], name: string) => entries.find((entry) => entry.name === name)
  const { context } = byName(config.contexts, config['current-context'])
  const { hostname, port } = new URL(byName(config.clusters, context.cluster).cluster.server)
  return { host: hostname, port: Number(port || 443) }
}

/** The credentials of a kubeconfig, which must not be printed. */
export function secretsOf(kubeconfig: string): string[] {
  return [...kubeconfig.matchAll(/(?:token|client-key-data): (\S+)/g)].map(([, secret]) => secret ?? '')
}
