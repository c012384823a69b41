import { type CatalogueGroup, pods } from './entry.ts'
import { allOf } from './expressions.ts'

const source = 'https://github.com/googleforgames/agones/blob/main/pkg/apis'
const gameServers = { apiVersion: 'agones.dev/v1', kind: 'GameServer' }
const gameServerSets = { apiVersion: 'agones.dev/v1', kind: 'GameServerSet' }

/** Game servers that serve a session are allocated, no longer ready. */
const serving = `status.?readyReplicas.orValue(0) + status.?allocatedReplicas.orValue(0) + status.?reservedReplicas.orValue(0)`

/** While an update replaces game servers, some of them are neither ready nor in use. */
const set = {
  current: allOf(`has(status.replicas)`, `${serving} == status.replicas`, `${serving} >= spec.?replicas.orValue(0)`),
  isWorkload: true,
} as const

/** Agones: game servers. */
export const agones: CatalogueGroup = {
  group: 'agones.dev',
  entries: [
    {
      kind: 'Fleet',
      documentation: `${source}/agones/v1/fleet.go`,
      ...set,
      owns: [gameServerSets, gameServers, pods],
    },
    {
      kind: 'GameServerSet',
      documentation: `${source}/agones/v1/gameserverset.go`,
      ...set,
      owns: [gameServers, pods],
    },
    {
      kind: 'GameServer',
      documentation: `${source}/agones/v1/gameserver.go`,
      current: `status.state in ['Ready', 'Allocated', 'Reserved']`,
      failed: `status.state == 'Error'`,
      owns: [pods],
      isWorkload: true,
    },
  ],
}

/** The autoscaler of Agones. A fleet that does not exist yet may be created later. */
export const agonesAutoscaling: CatalogueGroup = {
  group: 'autoscaling.agones.dev',
  entries: [
    {
      kind: 'FleetAutoscaler',
      documentation: `${source}/autoscaling/v1/fleetautoscaler.go`,
      current: `status.ableToScale`,
    },
  ],
}
