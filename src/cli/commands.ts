import { wrapWords } from '../report/escape.ts'
import {
  type Arguments,
  colorFlag,
  type Flag,
  type Grammar,
  helpFlag,
  inputFlags,
  jsonFlag,
  referenceFlagsOf,
  referenceOptionsText,
  replayFlags,
} from './arguments.ts'
import { merge, record, replay, wait } from './gate-commands.ts'
import type { CommandContext } from './output.ts'
import { changes, trace, why } from './view-commands.ts'

/* The table of commands, and their help. */

/** A command: its arguments, its help, and the function that runs it. */
interface Command extends Grammar {
  readonly name: string
  /** The arguments, as the help shows them: `REFERENCE…`. */
  readonly usage: string
  /** One line in the list of commands. */
  readonly summary: string
  /** The paragraphs of the command's help. */
  readonly description: string
  /** Each example has the arguments of the program, and what they do. */
  readonly examples: readonly (readonly [typed: string, does: string])[]
  /** Runs the command. Resolves to the exit code. */
  readonly run: (args: Arguments, context: CommandContext) => Promise<number>
}

function findInputFlags(...names: string[]): readonly Flag[] {
  return inputFlags.filter(({ name }) => names.includes(name))
}

const clusterFlags = findInputFlags('kubeconfig', 'context', 'namespace')

const recordingFlags: readonly Flag[] = [
  {
    name: 'recording',
    value: 'FILE',
    description: 'Show a recording instead of a cluster. Without a REFERENCE: the resources of its gate.',
  },
  {
    name: 'at',
    value: 'ELAPSED',
    description: 'The moment of the recording that is shown, since the start of its gate: 0:34. Default: its end.',
  },
]

const changesGrammar = {
  takes: 'references',
  referenceOptions: ['namespace', 'selector', 'all'],
  flags: [
    {
      name: 'output',
      short: 'o',
      value: 'FORMAT',
      choices: ['text', 'json'],
      description: 'text: YAML and coloured differences. json: one line of JSON per change.',
      default: 'text',
    },
    { name: 'until-ready', description: 'End when all objects are ready.' },
    ...findInputFlags('manifests'),
    ...recordingFlags,
    ...findInputFlags('settle-time', 'max-restarts'),
    ...clusterFlags,
    colorFlag,
  ],
} as const satisfies Grammar

const changesDescription =
  'A REFERENCE means one object, several, or those that a selector matches at the start. Each change has its time and, from managedFields, its author. ' +
  'Values of Secrets, ConfigMaps and environment variables are redacted; a change of one is still visible.\n\n' +
  'With -o json each change is one line: {"at", "elapsedSeconds", "target", "namespace", "by", "type", "patch"}. The type is ADDED, MODIFIED or DELETED; the patch (RFC 6902) turns the previous state into the present one, and the state before the first is null. ' +
  'It runs until Ctrl-C (130), or with --until-ready until all objects are ready (0).'

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  {
    name: 'wait',
    usage: 'REFERENCE…',
    summary: 'wait for a rollout: is it ready, and if not, why',
    description:
      'Waits until all resources are ready, one has failed or a clock runs out, and reports which and why.\n\n' +
      'A REFERENCE has the form of kubectl wait: deployment/web, deploy web api, !job/old to exclude one, or - for stdin: the output of kubectl apply, or manifests. ' +
      'Exit codes: 0 ready, 1 not ready, 2 invalid input, 130 cancelled.',
    examples: [
      ['wait deployment/web', 'until the Deployment has rolled out, at most 10 minutes'],
      ["wait -n shop 'job/migrate --timeout=20m' deployment/web", 'both in shop; the Job may take 20 minutes'],
      ['wait deploy,sts -l app=shop --json', 'all with that label; the report as JSON'],
      ['wait certificate/tls --for=condition=Ready', 'until a condition is true, as kubectl wait'],
      ['wait -', 'all that was applied: kubectl apply -f k8s/ | rollout-gate wait -'],
      ['wait -f k8s/', 'all objects of the manifests; problems point to their lines'],
      ['wait job/migrate --stream-logs=job/migrate', 'with the log of the Job, live'],
    ],
    takes: 'references',
    flags: [
      ...inputFlags,
      { name: 'summary', value: 'FILE', description: 'Write the summary to this file, as Markdown.' },
      jsonFlag,
      colorFlag,
    ],
    run: wait,
  },
  {
    name: 'why',
    usage: '[REFERENCE…]',
    summary: 'look once: what is not ready, and why',
    description:
      'Looks once, without waiting: the reasons, evidence and hints that the gate would give if its clocks ran out now, the worst first. What only waits for another resource is a line under its cause. ' +
      'Without a REFERENCE, it looks at everything in the namespace that needs more than to exist.\n\n' +
      'Exit codes: 1 if something has failed or has a problem that stands in its way, 0 if all is ready or progresses without a problem, 2 invalid input. With --json the outcome of the report is then progressing.',
    examples: [
      ['why', 'everything in the namespace of the context'],
      ['why -A', 'everything in all namespaces'],
      ['why -n shop deployment/web service/web', 'two resources'],
      ['why -l app=web --json', 'everything with that label; the report as JSON'],
      ['why --recording=web.ndjson.gz --at=0:34', 'the resources of a recorded gate at that moment'],
    ],
    takes: 'references',
    referenceOptions: ['namespace', 'selector', 'all', 'for'],
    flags: [
      ...findInputFlags('manifests'),
      { name: 'all-namespaces', short: 'A', description: 'Look at everything in all namespaces.' },
      ...recordingFlags,
      ...findInputFlags('settle-time', 'max-restarts', 'health-check-exprs', 'log-lines'),
      ...clusterFlags,
      jsonFlag,
      colorFlag,
    ],
    run: why,
  },
  {
    name: 'replay',
    usage: 'FILE…',
    summary: 'replay recordings: the verdict and the log of each',
    description:
      'Runs the gate on recordings, without a cluster and on a virtual clock. Flags replace the recorded inputs, to show the effect of other settings. ' +
      'The exit code is that of wait, for several files the worst. trace, status, changes and why show a recording at any moment: trace --recording=FILE --at=0:34.',
    examples: [
      ['replay incident.ndjson.gz', 'the log and the verdict of that gate'],
      ['replay incident.ndjson.gz --stall-timeout=2m', 'with a stall timeout of 2 minutes'],
      ['replay --json *.ndjson', 'one report per line, in the order of the files'],
    ],
    takes: 'files',
    flags: [...replayFlags, jsonFlag, colorFlag],
    run: replay,
  },
  {
    name: 'merge',
    usage: 'REPORT…',
    summary: 'merge the reports of several gates into one outcome, summary and report',
    description:
      'Reads the reports of gates, such as those of a matrix of clusters, and prints one log, summary or report. The gravest outcome decides; the exit code is that of wait.\n\n' +
      'A REPORT is the file of the output report, or of wait --json; NAME=REPORT names its gate. List every report that you expect: one that does not exist makes the outcome unknown, because its job may not have run.',
    examples: [
      ['merge eu/report.json us/report.json', 'the outcome of both, and the evidence of what failed'],
      ['merge eu=reports/1.json us=reports/2.json --summary', 'with names, as Markdown: >> "$GITHUB_STEP_SUMMARY"'],
      ['merge reports/{eu,us,ap}/report.json --json', 'one report with the targets of all'],
    ],
    takes: 'files',
    flags: [
      { name: 'summary', description: 'Print the summary as Markdown, and the log to stderr.' },
      ...findInputFlags('on-superseded'),
      jsonFlag,
      colorFlag,
    ],
    run: merge,
  },
  {
    name: 'record',
    usage: 'REFERENCE… -o FILE',
    summary: 'record what a gate would watch, for a later replay',
    description:
      'Writes everything that the gate would watch to a file, line by line: the resources, their dependents and their events. Values of Secrets, ConfigMaps and environment variables are not in it. ' +
      'It ends with Ctrl-C, or with --until-ready when the gate is over (exit codes as of wait).',
    examples: [
      ['record deployment/web -o web.ndjson.gz', 'until Ctrl-C, compressed'],
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
      { name: 'until-ready', description: 'End when the gate is over.' },
      ...findInputFlags('manifests'),
      ...inputFlags.filter(({ name }) => name !== 'record'),
      colorFlag,
    ],
    run: record,
  },
  {
    name: 'trace',
    usage: 'REFERENCE',
    summary: 'show a resource and everything behind it, live',
    description:
      'Shows the state of a resource, its problems, the milestones of its lifecycle, and what is behind it: the containers of a pod, the ReplicaSets and pods of a Deployment, the addresses and endpoints of a Service with the reason why a pod gets no traffic, what any other resource owns; and the latest events. ' +
      'On a terminal it is redrawn in place; elsewhere each change is printed. It waits for a resource that does not exist yet.\n\n' +
      'It runs until Ctrl-C (130), or with --until-ready until the resource is ready (0); with --timeout at most that long (1).',
    examples: [
      ['trace service/web', 'which pods get its traffic, and why the others do not'],
      ['trace deploy/web -n shop', 'the ReplicaSets and pods of a Deployment, during a rollout'],
      ['trace pod/web-0 --until-ready', 'until the pod is ready'],
      ['trace job -l app=migrate', 'the one Job with that label'],
      ['trace --recording=web.ndjson.gz --at=0:34', 'the resource of a recorded gate at that moment'],
    ],
    takes: 'references',
    referenceOptions: ['namespace', 'selector', 'all', 'for', 'timeout'],
    flags: [
      { name: 'until-ready', description: 'End when the resource is ready.' },
      ...findInputFlags('manifests'),
      ...recordingFlags,
      ...findInputFlags('settle-time', 'max-restarts'),
      // `trace` has no default timeout, because it runs until Ctrl-C.
      ...findInputFlags('timeout').map((flag) => ({ ...flag, default: undefined })),
      ...clusterFlags,
      colorFlag,
    ],
    run: trace,
  },
  {
    name: 'status',
    usage: 'REFERENCE…',
    summary: 'show changes in the status of objects, with their authors',
    description: `Prints the .status of objects as YAML, then the differences of each change. ${changesDescription}`,
    examples: [
      ['status pod/web-0', 'how a pod starts'],
      ['status certificate/tls issuer/main -n shop', 'two objects'],
      ['status pods -l app=web -o json', 'all with a label, including new ones, as JSON'],
      ['status --recording=web.ndjson.gz --at=0:34', 'the resources of a recorded gate until that moment'],
    ],
    ...changesGrammar,
    run: (args, context) => changes('status', args, context),
  },
  {
    name: 'changes',
    usage: 'REFERENCE…',
    summary: 'show changes in whole objects, with their authors',
    description: `Prints objects as YAML, then the differences of each change. ${changesDescription}`,
    examples: [
      ['changes deployment/web', 'who changes it, and where'],
      ['changes -f k8s/ --until-ready', 'the objects of the manifests, until all are ready'],
      ['changes endpointslices -l kubernetes.io/service-name=web', 'how the endpoints of a Service form'],
    ],
    ...changesGrammar,
    run: (args, context) => changes('object', args, context),
  },
  {
    name: 'completion',
    usage: 'bash|zsh|fish',
    summary: 'print the script that completes words in a shell',
    description: 'Prints a script for the shell. It completes commands, flags and kinds, without the cluster.',
    examples: [
      ['completion bash > ~/.local/share/bash-completion/completions/rollout-gate', 'bash, for the next shell'],
      ['completion zsh > "$fpath[1]/_rollout-gate"', 'zsh'],
      ['completion fish > ~/.config/fish/completions/rollout-gate.fish', 'fish'],
    ],
    takes: 'files',
    flags: [],
    // Loaded on use, so that other commands start faster.
    run: async (args, context) => (await import('./completion.ts')).completion(args, context),
  },
]

const helpWidth = 100

export function renderHelp(program: string): string {
  return joinLines(
    `Usage: ${program} COMMAND …`,
    '',
    'Watches Kubernetes rollouts, and reports how they end and why.',
    '',
    ...twoColumns(commands.map(({ name, usage, summary }) => [`${name} ${usage}`, summary])),
    '',
    ...twoColumns([
      [`${program} COMMAND --help`, 'flags and examples of a command'],
      [`${program} --version`, 'the version of this program'],
    ]),
  )
}

export function renderCommandHelp(program: string, command: Command): string {
  const { name, usage, description, examples } = command
  const flags = [...referenceFlagsOf(command), ...command.flags.filter((flag) => !flag.hidden), helpFlag]
  const ofReferences = `Flags stand for all references, wherever they are. A reference in quotes has options of its own, such as 'job/migrate -n jobs': ${referenceOptionsText(command)}.`
  return joinLines(
    `Usage: ${program} ${name} ${usage} [flags]`,
    '',
    ...description.split('\n').flatMap((paragraph) => wrapWords(paragraph, helpWidth)),
    '',
    'Examples:',
    ...twoColumns(examples.map(([typed, does]) => [`${program} ${typed}`, does])),
    ...(command.takes === 'references' ? ['', ...wrapWords(ofReferences, helpWidth)] : []),
    '',
    'Flags:',
    ...twoColumns(
      flags.map((flag) => [
        flagUsage(flag),
        flag.default ? `${flag.description} Default: ${flag.default}.` : flag.description,
      ]),
    ),
  )
}

/** A flag as the help lists it: `-n, --namespace=NAMESPACE`. */
function flagUsage({ name, short, value, choices }: Flag): string {
  const takes = value !== undefined ? `=${value}` : choices?.includes('auto') ? `=${choices.join('|')}` : ''
  const shown = choices?.[0] === 'true' ? `[no-]${name}` : name
  return `${short === undefined ? '    ' : `-${short}, `}--${shown}${takes}`
}

/** The lines of a table with two columns. If the first cell of a row is too wide, the second is on the next line. */
function twoColumns(rows: readonly (readonly [string, string])[]): string[] {
  const maxColumn = 34
  const column = Math.max(...rows.map(([first]) => first.length).filter((length) => length <= maxColumn), 0)
  return rows.flatMap(([first, second]) => {
    const [begin = '', ...more] = wrapWords(second, Math.max(40, helpWidth - column - 4))
    const rest = more.map((line) => `${' '.repeat(column + 4)}${line}`)
    if (first.length <= column) return [`  ${first.padEnd(column)}  ${begin}`, ...rest]
    return [`  ${first}`, `${' '.repeat(column + 4)}${begin}`, ...rest]
  })
}

function joinLines(...all: string[]): string {
  return `${all.map((line) => line.trimEnd()).join('\n')}\n`
}
