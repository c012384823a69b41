import type { ApiServer } from './api-server.ts'

/** A received object, with the fields that tests check. */
export interface Item {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly creationTimestamp?: string
    readonly labels?: Record<string, string>
  }
  readonly status?: object
}

export interface List {
  readonly kind: string
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: readonly Item[]
}

export interface WatchEvent {
  readonly type: string
  readonly object: Item & { readonly code?: number; readonly reason?: string }
}

/** Gets a JSON document with any status code. */
export async function getJson<T>(server: ApiServer, path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(server.url + path, init)
  return (await response.json()) as T
}

/** Opens a stream and returns a function for its next line: `undefined` at the end, an error if the connection breaks. */
export async function openLines(server: ApiServer, path: string): Promise<() => Promise<string | undefined>> {
  const response = await fetch(server.url + path)
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  return async () => {
    while (!rest.includes('\n')) {
      const chunk = await chunks?.read()
      if (!chunk || chunk.done) return undefined
      rest += chunk.value
    }
    const [line = '', ...more] = rest.split('\n')
    rest = more.join('\n')
    return line
  }
}

/** Opens a watch and returns a function for its next event, which throws at the end. */
export async function openWatch(server: ApiServer, path: string): Promise<() => Promise<WatchEvent>> {
  const nextLine = await openLines(server, path)
  return async () => {
    const line = await nextLine()
    if (line === undefined) throw new Error('the watch has ended')
    return JSON.parse(line) as WatchEvent
  }
}

/** Type and name of an event: `MODIFIED web`. */
export function eventText({ type, object }: WatchEvent): string {
  return `${type} ${object.metadata.name}`
}
