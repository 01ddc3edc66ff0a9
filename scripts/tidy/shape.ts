// Sizes: lines of functions and files, columns, parameters.

import ts from 'typescript'
import { isExempt } from './architecture.ts'
import { type Code, type Finding, lineOf, type Project, visit } from './project.ts'

/** Whatever is longer or wider than the limits of architecture.json. */
export function checkShape(project: Project): Finding[] {
  const { architecture } = project
  return [...project.code.values()]
    .flatMap((code) => [
      ...checkFile(code, architecture.limits.file_lines),
      ...checkColumns(code, architecture.limits.line_columns),
      ...checkFunctions(code, architecture.limits),
    ])
    .filter(({ rule, path }) => !isExempt(architecture, rule, path))
}

function checkFile({ path, text }: Code, max: number): Finding[] {
  const lines = text.replace(/\n$/, '').split('\n').length
  if (lines <= max) return []
  const message = `${lines} lines, at most ${max}`
  return [{ path, line: max + 1, rule: 'file-length', message, use: 'two files' }]
}

function checkColumns({ path, text }: Code, max: number): Finding[] {
  const findings: Finding[] = []
  for (const [index, line] of text.split('\n').entries()) {
    // An address cannot be broken.
    if (line.length <= max || [...line].length <= max || /https?:\/\/\S{40}/.test(line)) continue
    const message = `${[...line].length} columns, at most ${max}`
    findings.push({ path, line: index + 1, rule: 'line-length', message, use: 'two lines' })
  }
  return findings
}

function checkFunctions(
  { path, ast }: Code,
  limits: { function_lines: number; parameters: number },
): Finding[] {
  const findings: Finding[] = []
  visit(ast, (node) => {
    if (!ts.isFunctionLike(node) || isSuite(node)) return
    const line = lineOf(ast, node)
    const lines = ast.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - line
    if (lines > limits.function_lines) {
      const message = `${lines} lines, at most ${limits.function_lines}`
      findings.push({ path, line, rule: 'function-length', message, use: 'smaller functions' })
    }
    const parameters = node.parameters.filter((p) => p.name.getText(ast) !== 'this').length
    if (parameters > limits.parameters) {
      const message = `${parameters} parameters, at most ${limits.parameters}`
      findings.push({ path, line, rule: 'parameters', message, use: 'an options object' })
    }
  })
  return findings
}

/** The body of a `describe` is a list of tests, not a function one reads through. */
function isSuite(node: ts.Node): boolean {
  const { parent } = node
  return ts.isCallExpression(parent) && /^(describe|suite)$/.test(parent.expression.getText())
}
