// All rules of tidy, in the order their findings are printed.

import { checkBans } from './bans.ts'
import { checkCasts } from './casts.ts'
import { checkFileCycles, checkFolderCycles } from './cycles.ts'
import { checkFirstLines, checkNames, checkReach } from './files.ts'
import { checkImports, checkTiers } from './imports.ts'
import { checkOperations } from './operations.ts'
import type { Finding, Project } from './project.ts'
import { checkQueries } from './queries.ts'
import { checkShape } from './shape.ts'
import { checkMachine, checkTierPage } from './texts.ts'

const RULES: readonly ((project: Project) => Finding[])[] = [
  checkTiers,
  checkImports,
  checkFileCycles,
  checkFolderCycles,
  checkShape,
  checkBans,
  checkCasts,
  checkNames,
  checkFirstLines,
  checkReach,
  checkQueries,
  checkOperations,
  checkMachine,
  checkTierPage,
]

export function checkAll(project: Project): Finding[] {
  return RULES.flatMap((rule) => rule(project))
}

/** `path:line rule: message; use X` */
export function render({ path, line, rule, message, use }: Finding): string {
  return `${path}:${line} ${rule}: ${message}${use === undefined ? '' : `; use ${use}`}`
}
