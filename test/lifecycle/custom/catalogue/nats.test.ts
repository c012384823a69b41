import { natsJetStream } from '../../../../src/lifecycle/custom/catalogue/nats.ts'
import { type SampleObject, testEntries } from './cases.ts'

const stream = (status: string, message: string, observedGeneration = 2): SampleObject => ({
  apiVersion: 'jetstream.nats.io/v1beta2',
  kind: 'Stream',
  metadata: { generation: 2 },
  spec: {},
  status: { observedGeneration, conditions: [{ type: 'Ready', status, reason: 'Reconciling', message }] },
})

testEntries(natsJetStream, [
  ['a stream that exists is ready', stream('True', 'Stream successfully created.'), { verdict: 'ready' }],
  [
    'a stream that cannot be created yet progresses',
    stream('False', 'no responders available'),
    { verdict: 'progressing', mentions: 'no responders' },
  ],
  ['a stream that was ready before its change progresses', stream('True', '', 1), { verdict: 'progressing' }],
])
