/** CPU time of `work` in milliseconds; unlike elapsed time, load on the machine hardly changes it. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
