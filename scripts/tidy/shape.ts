// Checks sizes: lines of functions and files, columns, parameters, files; literal spreads.

import ts from 'typescript-6'
import { type Code, type Finding, lineOf, linesOf, type Project, visit } from './project.ts'

/** Finds everything that exceeds the limits of architecture.json. */
export function checkShape(project: Project): Finding[] {
  const { architecture } = project
  return [...project.code.values()]
    .flatMap((code) => [
      ...checkFile(code, architecture.limits.file_lines),
      ...checkColumns(code, architecture.limits.line_columns),
      ...checkFunctions(code, architecture.limits),
      ...checkSpreads(code),
    ])
    .concat(checkFolders(project))
}

/** The number of code files in each folder, tests included. */
export function folderSizes({ code }: Project): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const path of code.keys()) {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    sizes.set(folder, (sizes.get(folder) ?? 0) + 1)
  }
  return sizes
}

function checkFolders(project: Project): Finding[] {
  const max = project.architecture.limits.folder_files
  return [...folderSizes(project)]
    .filter(([, size]) => size > max)
    .map(([path, size]) => {
      const message = `${size} files, at most ${max}`
      const use = 'fewer, larger files, or a folder'
      return { path, line: 1, rule: 'folder-files', message, use, weight: size - max }
    })
}

/** Finds `{ ...{ a, b } }`, which should be `{ a, b }` on more lines. */
function checkSpreads({ path, ast }: Code): Finding[] {
  const findings: Finding[] = []
  visit(ast, (node) => {
    if (!ts.isSpreadAssignment(node) || !ts.isObjectLiteralExpression(node.expression)) return
    const message = 'a literal is spread into a literal'
    const line = lineOf(ast, node)
    findings.push({ path, line, rule: 'literal-spread', message, use: 'plain members' })
  })
  return findings
}

function checkFile({ path, text }: Code, max: number): Finding[] {
  const lines = linesOf(text)
  if (lines <= max) return []
  const message = `${lines} lines, at most ${max}`
  return [{ path, line: max + 1, rule: 'file-length', message, use: 'two files' }]
}

function checkColumns({ path, text }: Code, max: number): Finding[] {
  const findings: Finding[] = []
  for (const [index, line] of text.split('\n').entries()) {
    // A URL cannot be broken.
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

/** Excludes the body of a `describe`, which is a list of tests and not a function to read. */
function isSuite(node: ts.Node): boolean {
  const { parent } = node
  return ts.isCallExpression(parent) && /^(describe|suite)$/.test(parent.expression.getText())
}
