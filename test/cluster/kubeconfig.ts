import { parse, stringify } from 'yaml'

/** The kubeconfig with this token as the only credential of every user. */
export function withToken(kubeconfig: string, token: string): string {
  const config = parse(kubeconfig)
  for (const entry of config.users) entry.user = { token }
  return stringify(config)
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
