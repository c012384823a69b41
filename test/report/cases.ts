import type { AnswerRecord, EndedRunRecord, TargetRecord } from '../../src/gate/run-record.ts'
import { readData } from '../kit/rows.ts'
import {
  at,
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createRecord,
  createRequest,
  createTarget,
  createTargetRecord,
} from './builders.ts'
import { type RecordData, toRecord } from './record-data.ts'

const { records } = readData(import.meta.filename.replace('.ts', '.yaml')) as {
  readonly records: Readonly<Record<string, RecordData>>
}

/** Text that tries to break out of every format in which it is printed. */
export const hostileWords = [
  '::error::owned',
  '  ::add-mask::a',
  'text ##[error]owned',
  '##\u200b[error]owned',
  ':\u200b:error::owned',
  '\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07',
  'line\nbreak\r\n::error::two\u2028three\u2029four\u0085::error::five',
  '``` fence ````` of `ticks`',
  '| a | pipe \\| b |',
  '</details></summary><script>alert(1)</script><img src=x onerror=alert(1)>',
  'right \u202eto left\u202c \u2066isolated\u2069 \ufeff',
  '@octocat fixed #12 and GH-7, see https://evil.example www.evil.example :smile: a@b.example',
  '[link](javascript:alert(1)) ![image](https://evil.example/x.png) **bold** _em_ ~~no~~ $x$ <b>',
  'end; click a call b() %%{init: {}}%% # comment, more: yes "quoted"',
  '<!-- comment --> &lt;b&gt; &#35;1 <details open>',
  `long ${'w'.repeat(300)} 😀 שלום`,
  'null\0bell\x07back\bspace \ud800 lone',
]

function hostile(): EndedRunRecord {
  const words = hostileWords.join(' ')
  const evil = (name: string, text: string): TargetRecord =>
    createTargetRecord({
      target: createTarget({
        kind: 'Click',
        apiVersion: 'evil.example/v1',
        name,
        source: { file: 'k8s/ev`il (1).yaml', line: 3 },
      }),
      outcome: 'failed',
      reason: 'reported-failed',
      message: text,
      hint: text,
      endedAt: at(20),
      milestones: [
        createMilestone({ name: 'created', at: at(1), message: text }),
        createMilestone({ name: 'title; click a', state: 'failed', message: text }),
      ],
      problems: [
        createProblem({
          reason: 'reported-failed',
          subject: { group: '', kind: text, name: 'x' },
          container: '`a|b`',
          message: text,
          evidence: [
            createEvidence({ title: text, text: hostileWords.join('\n') }),
            createEvidence({ type: 'log', title: 'Log', text: 'x'.repeat(1_000_000) }),
          ],
        }),
      ],
      notes: [text],
    })
  return createRecord({
    context: 'prod::error::|`',
    finishedAt: at(20),
    verdict: { outcome: 'failed', reason: 'reported-failed', message: words },
    targets: [
      ...hostileWords.map((text) => evil(text, text)),
      evil('constructor', words),
      evil('a; b: c, d # e', words),
      evil('a; b: c, d # f', words),
    ],
    entries: hostileWords.flatMap((text, target) => [
      createEntry({ at: at(1), target, kind: 'problem', text }),
      createEntry({ at: at(20), target, kind: 'verdict', outcome: 'failed', text }),
    ]),
    httpChecks: [createRequest({ request: words, asked: 30, errors: 29, answers: hostileWords.map(answerWith) })],
  })
}

function answerWith(text: string): AnswerRecord {
  return { at: at(5), pod: text, status: 500, body: text, location: text, right: false }
}

/** Complete records that no recording shows. */
export const cases: Readonly<Record<string, EndedRunRecord>> = {
  ...Object.fromEntries(Object.entries(records).map(([name, data]) => [name, toRecord(data)])),
  hostile: hostile(),
}
