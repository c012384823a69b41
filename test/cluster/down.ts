import { down } from './cluster.ts'
import { script } from './command.ts'

await script(async () => {
  console.log((await down()) ? 'The cluster is down, and nothing of it is left' : 'There was no cluster')
})
