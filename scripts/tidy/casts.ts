// The ratchet on type assertions: their number in product code may only fall.

import ts from 'typescript'
import { isProduct } from './architecture.ts'
import { type Finding, type Project, visit } from './project.ts'

export interface CastCount {
  readonly total: number
  /** Product lines, for the aim of one in a thousand. */
  readonly lines: number
  readonly files: readonly { path: string; count: number }[]
}

/** Assertions (`as T`, `<T>x`) in product code; `as const` widens nothing and is not counted. */
export function countCasts({ code }: Project): CastCount {
  const files: { path: string; count: number }[] = []
  let lines = 0
  for (const { path, ast, text } of code.values()) {
    if (!isProduct(path)) continue
    lines += text.split('\n').length - 1
    let count = 0
    visit(ast, (node) => {
      if (ts.isTypeAssertionExpression(node)) count += 1
      if (ts.isAsExpression(node) && !ts.isConstTypeReference(node.type)) count += 1
    })
    if (count > 0) files.push({ path, count })
  }
  files.sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1))
  return { total: files.reduce((sum, { count }) => sum + count, 0), lines, files }
}

export function checkCasts(project: Project): Finding[] {
  const { total, files } = countCasts(project)
  const max = project.architecture.limits.casts
  if (total <= max) return []
  const most = files.slice(0, 5).map(({ path, count }) => `${path} ${count}`)
  const message = `${total} type assertions, at most ${max}; most in ${most.join(', ')}`
  return [{ path: 'architecture.json', line: 1, rule: 'casts', message, use: 'a parser or a type' }]
}
