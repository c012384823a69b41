/** Milliseconds of processor time that `work` takes: unlike time on the wall, a busy machine does not lengthen them much. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
