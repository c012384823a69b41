import { down } from './cluster.ts'
import { runScript } from './command.ts'

await runScript(async () => {
  console.log((await down()) ? 'The cluster is down and removed' : 'No cluster was running')
})
