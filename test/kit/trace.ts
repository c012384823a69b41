import type { Observation } from '../../src/cluster/feed.ts'
import type { EndpointSlice, KubeObject, Pod, Service } from '../../src/cluster/objects.ts'
import { isSupersetOf } from '../../src/cluster/store.ts'
import type { Target } from '../../src/plan/target.ts'
import { type Line, paintLine } from '../../src/views/line.ts'
import { Trace } from '../../src/views/trace.ts'
import { renderTrace } from '../../src/views/trace-view.ts'
import { added, createSettings } from './gate.ts'
import type { NamedObjects } from './named-objects.ts'
import { moment, start } from './objects.ts'
import { readData } from './rows.ts'
import { tape } from './tape.ts'
import { toPattern } from './words.ts'

export function createTarget(kind: string, name: string, apiVersion = 'v1'): Target {
  return { apiVersion, kind, name, namespace: 'shop', clocks: {} }
}

/** `web`, which selects app=web and sends port 80 to 8080. */
export function createService(spec: Service['spec'] = {}, status: Service['status'] = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid: 'service-uid' },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.0.0.1',
      selector: { app: 'web' },
      ports: [{ port: 80, targetPort: 8080 }],
      ...spec,
    },
    status,
  }
}

/** The slice of `web`, with an endpoint a pod: those that are ready, and then the others. */
export function createSlice(ready: readonly Pod[], port?: number, others: readonly Pod[] = []): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'web-1',
      namespace: 'shop',
      uid: 'slice-uid',
      labels: { 'kubernetes.io/service-name': 'web' },
    },
    endpoints: [...ready, ...others].map(({ metadata }, index) => ({
      addresses: [`10.1.0.${index + 1}`],
      conditions: { ready: index < ready.length },
      targetRef: { kind: 'Pod', name: metadata.name, uid: metadata.uid ?? '' },
    })),
    ports: port === undefined ? [] : [{ name: '', port }],
  }
}

/** The observations of one second. */
export type Step = readonly [seconds: number, ...observations: readonly Observation[]]

export function createTrace(target: Target, ...steps: readonly Step[]): Trace {
  const source = { now: () => moment(0), isLive: false, willSync: () => true }
  const trace = new Trace(target, createSettings(), source, () => false)
  for (const [seconds, ...observations] of steps) {
    for (const observation of observations) trace.handle([{ ...observation, at: moment(seconds) }])
    if (steps[0]?.[0] === seconds) {
      // The first lists end after the objects of the first step, because these determine the watches of relatives.
      for (const request of trace.requests)
        if (!observations.some((each) => each.type === 'ERROR' && isSupersetOf(each, request)))
          trace.handle([{ type: 'SYNCED', ...request, at: moment(seconds) }])
    }
  }
  return trace
}

export function textOf(lines: readonly Line[]): string[] {
  return lines.map((each) => paintLine(each, { color: false, redact: String }))
}

/** The view of a target when these objects exist. */
export function viewOf(target: Target, objects: readonly KubeObject[], seconds = 5, rows?: number): string[] {
  return viewAt(createTrace(target, [0, ...added(...objects)]), seconds, rows)
}

export function viewAt(trace: Trace, seconds: number, rows?: number): string[] {
  return textOf(renderTrace(trace.state(moment(seconds)), rows))
}

/** The lines of a section, without its heading. */
export function section(page: readonly string[], heading: string): string[] {
  const begin = page.indexOf(heading)
  if (begin < 0) return []
  const end = page.indexOf('', begin)
  return page.slice(begin + 1, end < 0 ? undefined : end)
}

/**
 * What a view shows: a section as a whole, by its heading; `page`, lines that it has; `lacks`, words that it has not. `…` stands
 * for any other words, but not as the mark at the start of a line.
 */
type Shown = Readonly<Record<string, readonly string[]>>

function toLinePattern(line: string): RegExp {
  const [mark = ''] = /^ *… /.exec(line) ?? []
  return new RegExp(`^${mark}${toPattern(line.slice(mark.length)).source.slice(1)}`, 's')
}

/** The views of a file: `a title: [0 web creating; 20 web gone, { 21: { conditions: […] } }]`, a tape and what is shown when. */
export function testViews(path: string, target: Target): void {
  const { objects, views } = readData(path) as {
    readonly objects: NamedObjects
    readonly views: Readonly<Record<string, readonly [tape: string, shown: Readonly<Record<number, Shown>>]>>
  }
  it.each(Object.entries(views))('%s', (_, [text, shown]) => {
    const steps = tape(text, objects).map((events): Step => [((events[0]?.at ?? start) - start) / 1_000, ...events])
    const trace = createTrace(target, ...steps)
    for (const [second, { page = [], lacks = [], ...sections }] of Object.entries(shown)) {
      const view = viewAt(trace, Number(second))
      const like = (lines: readonly string[]) => lines.map((each) => expect.stringMatching(toLinePattern(each)))
      for (const [heading, lines] of Object.entries(sections)) expect(section(view, heading)).toEqual(like(lines))
      expect(view).toEqual(expect.arrayContaining(like(page)))
      for (const words of lacks) expect(view.join('\n')).not.toContain(words)
    }
  })
}
