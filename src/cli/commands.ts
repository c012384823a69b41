import type { Arguments, Grammar } from './arguments.ts'
import { changes, status } from './changes.ts'
import { type Flag, filenameFlag, inputFlags, judgingFlags, outputFlags } from './flags.ts'
import type { Surface } from './output.ts'
import { record } from './record.ts'
import { replay } from './replay.ts'
import { trace } from './trace.ts'
import { wait } from './wait.ts'

/** A command of the program: what it takes, what its help says, and what it does. */
export interface Command extends Grammar {
  readonly name: string
  /** What stands behind the name: `REFERENCE…`. */
  readonly usage: string
  /** One line for the list of commands. */
  readonly summary: string
  /** A paragraph or more for its own help. */
  readonly description: string
  /** What is typed behind the program's name, and what that does. */
  readonly examples: readonly (readonly [typed: string, does: string])[]
  /** Resolves to the exit code. */
  readonly run: (args: Arguments, surface: Surface) => Promise<number>
}

const [json, color] = outputFlags as readonly [Flag, Flag]

/** The inputs that say which cluster a view looks at, and where. */
const placeFlags = inputFlags.filter(({ name }) => ['kubeconfig', 'context', 'namespace'].includes(name))

const changeFlags: readonly Flag[] = [
  {
    name: 'output',
    short: 'o',
    value: 'FORMAT',
    description: 'text: YAML and coloured differences. json: one line of JSON a change.',
    default: 'text',
  },
  { name: 'until-ready', description: 'End when all that is followed is ready.' },
  filenameFlag,
  ...inputFlags.filter(({ name }) => ['settle-time', 'max-restarts'].includes(name)),
  ...placeFlags,
  color,
]

const changeWords =
  'A REFERENCE names one object, several, or those of a selector, also such as are made later. Each change says when it came and, where managedFields tell, who made it. ' +
  'Values of Secrets, ConfigMaps and environment variables are hidden; that one changed is seen.\n\n' +
  'With -o json each change is one line: {"at", "elapsedSeconds", "target", "namespace", "by", "type", "patch"}. The type is ADDED, MODIFIED or DELETED; the patch (RFC 6902) makes the present state of the one before, which is null at first. ' +
  'It runs until Ctrl-C (130), or with --until-ready until all that is followed is ready (0).'

/** In the order of the help. */
export const commands: readonly Command[] = [
  {
    name: 'wait',
    usage: 'REFERENCE…',
    summary: 'wait for a rollout: is it ready, and if not, why',
    description:
      'Watches resources through the milestones of their lifecycle until all are ready, one has failed or a clock runs out, and says which and why.\n\n' +
      'A REFERENCE is written as for kubectl wait: deployment/web, deploy web api, sts -l app=shop, !job/old to leave one out, or - for stdin: what kubectl apply printed, or manifests. ' +
      'Exit codes: 0 ready, 1 not ready, 2 a mistake of yours, 130 cancelled.',
    examples: [
      ['wait deployment/web', 'until the Deployment has rolled out, at most 10 minutes'],
      ['wait -n shop deployment/web job/migrate --timeout=20m', 'both in shop; the Job may take 20 minutes'],
      ['wait deploy,sts -l app=shop --json', 'all with that label; the report as JSON'],
      ['wait certificate/tls --for=condition=Ready', 'until a condition is true, as kubectl wait'],
      ['wait -', 'behind kubectl apply -f k8s/ |: all that was applied'],
      ['wait -f k8s/', 'all that the manifests name; problems point to their lines'],
      ['wait job/migrate --stream-logs=job/migrate', 'with what the Job logs, live'],
    ],
    takes: 'references',
    flags: [filenameFlag, ...inputFlags, json, color],
    run: wait,
  },
  {
    name: 'replay',
    usage: 'FILE…',
    summary: 'judge recordings again: the verdict and the log as they were',
    description:
      'Plays recordings through the gate on a virtual clock, without a cluster. Flags go before the recorded inputs, to ask what would have been. ' +
      'Also reads what kubespy record and kubectl get -w -o json write; such versions of one object are taken to have come at the latest moment that each tells of itself. ' +
      'The exit code is the worst of the files, as of wait.',
    examples: [
      ['replay incident.ndjson.gz', 'the log and the verdict of that gate'],
      ['replay incident.ndjson.gz --stall-timeout=2m', 'what if the stall timeout had been 2 minutes?'],
      ['replay incident.ndjson.gz --speed=1', 'as it was lived through, in real time'],
      ['replay --json *.ndjson', 'one report a line, in the order of the files'],
    ],
    takes: 'files',
    flags: [
      { name: 'speed', value: 'FACTOR', description: 'Let time pass: 1 is real time, 10 ten times as fast.' },
      ...judgingFlags,
      json,
      color,
    ],
    run: replay,
  },
  {
    name: 'record',
    usage: 'REFERENCE… -o FILE',
    summary: 'record all that a gate would watch, to replay it later',
    description:
      'Writes everything that the gate would watch to a file, line by line: the resources, what is behind them, their events. Values of Secrets, ConfigMaps and environment variables are not in it. ' +
      'It ends with Ctrl-C, after --for=DURATION, or with --until-ready when the gate is over (exit codes as of wait).\n\n' +
      'A --for that begins with a digit says how long to record, wherever it stands; any other belongs to a reference.',
    examples: [
      ['record deployment/web -o web.ndjson', 'until Ctrl-C'],
      ['record deployment/web -o web.ndjson.gz --for=2m', 'two minutes, compressed'],
      ['record -n shop deploy --all -o shop.ndjson --until-ready', 'until all have rolled out, or one has failed'],
    ],
    takes: 'references',
    flags: [
      {
        name: 'output',
        short: 'o',
        value: 'FILE',
        description: 'The file to write; a name that ends in .gz is compressed.',
      },
      { name: 'for', value: 'DURATION', description: 'How long to record: 2m.' },
      { name: 'until-ready', description: 'End when the gate is over.' },
      filenameFlag,
      ...inputFlags.filter(({ name }) => name !== 'record'),
      color,
    ],
    claims: (name, value) => name === 'for' && /^[-\d.]/.test(value),
    run: record,
  },
  {
    name: 'trace',
    usage: 'REFERENCE',
    summary: 'see a resource and everything behind it, live',
    description:
      'Draws where a resource stands, what is wrong with it, the milestones of its lifecycle, and what is behind it: the containers of a pod, the ReplicaSets and pods of a Deployment, the addresses and endpoints of a Service with the reason why a pod gets no traffic, what any other resource owns; and the latest events. ' +
      'On a terminal the picture is drawn anew in place; elsewhere each one that brings news is printed. What does not exist yet is waited for.\n\n' +
      'It runs until Ctrl-C (130), or with --until-ready until the resource is ready (0); with a --timeout at most so long (1).',
    examples: [
      ['trace service/web', 'which pods get its traffic, and why the others do not'],
      ['trace deploy/web -n shop', 'the ReplicaSets and pods of a Deployment, as it rolls out'],
      ['trace pod/web-0 --until-ready', 'until the pod is ready'],
      ['trace job -l app=migrate', 'the one Job with that label'],
    ],
    takes: 'references',
    without: ['stall-timeout', 'milestone-timeouts'],
    flags: [
      { name: 'until-ready', description: 'End when the resource is ready.' },
      filenameFlag,
      ...inputFlags.filter(({ name }) => ['settle-time', 'max-restarts', 'timeout'].includes(name)),
      ...placeFlags,
      color,
    ],
    run: trace,
  },
  {
    name: 'status',
    usage: 'REFERENCE…',
    summary: 'see what changes in the status of objects, and who changes it',
    description: `Prints the .status of objects as YAML, then what differs at each change. ${changeWords}`,
    examples: [
      ['status pod/web-0', 'how a pod comes up'],
      ['status certificate/tls issuer/main -n shop', 'two objects'],
      ['status pods -l app=web -o json', 'those with a label, also new ones, for a program'],
    ],
    takes: 'references',
    without: ['for', 'timeout', 'stall-timeout', 'milestone-timeouts'],
    flags: changeFlags,
    run: status,
  },
  {
    name: 'changes',
    usage: 'REFERENCE…',
    summary: 'see what changes in whole objects, and who changes it',
    description: `Prints objects as YAML, then what differs at each change. ${changeWords}`,
    examples: [
      ['changes deployment/web', 'who touches it, and where'],
      ['changes -f k8s/ --until-ready', 'what the manifests name, until all of it is ready'],
      ['changes endpointslices -l kubernetes.io/service-name=web', 'how the endpoints of a Service form'],
    ],
    takes: 'references',
    without: ['for', 'timeout', 'stall-timeout', 'milestone-timeouts'],
    flags: changeFlags,
    run: changes,
  },
]
