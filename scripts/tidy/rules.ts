// The list of all rules of tidy, in the order in which their findings are printed.

import { isExempt } from './architecture.ts'
import { checkBans } from './bans.ts'
import { checkCasts } from './casts.ts'
import { overCeilings } from './ceilings.ts'
import { checkFileCycles, checkFolderCycles, checkTypeCycles } from './cycles.ts'
import { checkExports } from './exports.ts'
import { checkFirstLines, checkNames, checkReach, checkSmallFiles } from './files.ts'
import { checkImports, checkTiers } from './imports.ts'
import { checkTerms } from './names.ts'
import { checkOperations } from './operations.ts'
import type { Finding, Project } from './project.ts'
import { checkFragments, checkGlossary, checkPhrases } from './prose.ts'
import { checkQueries } from './queries.ts'
import { checkShape } from './shape.ts'
import { checkMachine, checkTierPage } from './texts.ts'

const RULES: readonly ((project: Project) => Finding[])[] = [
  checkTiers,
  checkImports,
  checkFileCycles,
  checkTypeCycles,
  checkFolderCycles,
  checkShape,
  checkBans,
  checkCasts,
  checkExports,
  checkNames,
  checkTerms,
  checkPhrases,
  checkFragments,
  checkGlossary,
  checkSmallFiles,
  checkFirstLines,
  checkReach,
  checkQueries,
  checkOperations,
  checkMachine,
  checkTierPage,
]

/** Every finding that no exemption covers, regardless of the ceilings. */
export function findAll(project: Project): Finding[] {
  const findings = RULES.flatMap((rule) => rule(project))
  return findings.filter(({ rule, path }) => !isExempt(project.architecture, rule, path))
}

/** The findings that fail a check: those without a ceiling, and exceeded ceilings. */
export function checkAll(project: Project): Finding[] {
  return overCeilings(findAll(project), project.architecture.ceilings)
}

/** Formats a finding: `path:line rule: message; use X` */
export function render({ path, line, rule, message, use }: Finding): string {
  return `${path}:${line} ${rule}: ${message}${use === undefined ? '' : `; use ${use}`}`
}
