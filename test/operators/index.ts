import { argoCd, argoCdScenarios } from './argo-cd.ts'
import { argoRollouts, argoRolloutsScenarios } from './argo-rollouts.ts'
import { certManager, certManagerScenarios } from './cert-manager.ts'
import { externalSecrets, externalSecretsScenarios } from './external-secrets.ts'
import { flux, fluxScenarios } from './flux.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { prometheusOperator, prometheusScenarios } from './prometheus.ts'

/** Every operator. */
export const operators: readonly Operator[] = [
  argoCd,
  argoRollouts,
  certManager,
  externalSecrets,
  flux,
  prometheusOperator,
]

/** Every scenario, in the order of the table. */
export const operatorScenarios: readonly OperatorScenario[] = [
  ...argoCdScenarios,
  ...argoRolloutsScenarios,
  ...certManagerScenarios,
  ...externalSecretsScenarios,
  ...fluxScenarios,
  ...prometheusScenarios,
]

/** The operators of these names, or all of them. */
export function chooseOperators(names: readonly string[]): readonly Operator[] {
  return choose('operator', operators, names, (operator, name) => operator.name === name)
}

/** The scenarios of these names, or of these operators, or all of them. */
export function chooseOperatorScenarios(names: readonly string[]): readonly OperatorScenario[] {
  return choose('scenario or operator', operatorScenarios, names, (scenario, name) =>
    [scenario.name, scenario.operator].includes(name),
  )
}

function choose<T extends { name: string }>(
  what: string,
  all: readonly T[],
  names: readonly string[],
  hasName: (item: T, name: string) => boolean,
): readonly T[] {
  const unknown = names.filter((name) => !all.some((item) => hasName(item, name)))
  if (unknown.length > 0) {
    throw new Error(`no ${what} ${unknown.join(', ')}; there are: ${all.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? all : all.filter((item) => names.some((name) => hasName(item, name)))
}
