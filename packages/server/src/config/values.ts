// Reads single settings; what is wrong is said by name and rule, never by value.

import { OperatorError } from '../platform/operator-error.ts'
import type { Environment, SettingName } from './env.ts'

/** A setting that cannot be used; its message is one clear line. */
export class ConfigError extends OperatorError {}

// The value itself may be a secret: only the name and the rule are shown.
export const wrong = (name: SettingName, rule: string) => new ConfigError(`${name} ${rule}`)

export function integer(
  env: Environment,
  name: SettingName,
  fallback: number,
  bounds: { min: number; max: number },
): number {
  const given = env[name]
  if (given === undefined) return fallback
  const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
  if (value >= bounds.min && value <= bounds.max) return value
  throw wrong(name, `must be a whole number from ${bounds.min} to ${bounds.max}`)
}
