// Pure: JSON that survives sealing, signing and showing unchanged; the same rules as for bodies.

import { limits } from '@custos/contract'

/**
 * What would be changed or misread: U+0000, lone surrogates, integers beyond 2^53-1, numbers out
 * of range, keys that reach a prototype, deep nesting. Null when there is nothing of it.
 */
export function plainJsonProblem(
  value: unknown,
  levels: number = limits.json_depth,
): string | null {
  if (typeof value === 'string') return textProblem(value)
  if (typeof value === 'number') return numberProblem(value)
  if (typeof value !== 'object' || value === null) return null
  if (levels === 0) return `nested deeper than ${limits.json_depth} levels`
  for (const [key, member] of Object.entries(value)) {
    if (reachesPrototype(key, member)) return `the key ${key} is not taken`
    const problem = textProblem(key) ?? plainJsonProblem(member, levels - 1)
    if (problem !== null) return problem
  }
  return null
}

function reachesPrototype(key: string, member: unknown): boolean {
  if (key === '__proto__') return true
  if (key !== 'constructor' || typeof member !== 'object' || member === null) return false
  return Object.hasOwn(member, 'prototype')
}

function textProblem(text: string): string | null {
  if (text.includes('\0')) return 'U+0000 is not taken'
  return text.isWellFormed() ? null : 'lone surrogates are not taken'
}

function numberProblem(value: number): string | null {
  if (!Number.isFinite(value)) return 'a number is out of range'
  const exact = !Number.isInteger(value) || Number.isSafeInteger(value)
  return exact ? null : 'integers must lie within ±(2^53 - 1)'
}
