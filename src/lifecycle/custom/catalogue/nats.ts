import type { CatalogueGroup } from './entry.ts'
import { isTrue, messageOf } from './expressions.ts'

/** NACK: streams, consumers, key-value buckets, object stores and accounts of NATS. It retries what failed. */
export const natsJetStream: CatalogueGroup = {
  group: 'jetstream.nats.io',
  entries: [
    {
      kind: '*',
      documentation: 'https://github.com/nats-io/nack/blob/main/internal/controller/jetstream_controller.go',
      current: isTrue('Ready'),
      cause: [messageOf('Ready')],
    },
  ],
}
