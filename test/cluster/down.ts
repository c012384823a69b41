import { down } from './cluster.ts'

console.log((await down()) ? 'The cluster is down, and nothing of it is left' : 'There was no cluster')
