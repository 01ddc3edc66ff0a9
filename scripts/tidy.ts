// Checks the house rules that no formatter or compiler knows: `npm run tidy`. After `--`:
//   --write        refreshes the tiers in ARCHITECTURE.md and lowers the ceilings
//   --figures      prints what is measured against the targets of architecture.json
//   --list <rule>  prints every finding of a rule, also those its ceiling lets through
//   --names        the same for the three rules of names

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Architecture } from './tidy/architecture.ts'
import { countOf, lowerCeilings, overCeilings } from './tidy/ceilings.ts'
import { measure, renderFigures } from './tidy/figures.ts'
import { type Finding, type Project, projectOf } from './tidy/project.ts'
import { findAll, render } from './tidy/rules.ts'
import { withTiers } from './tidy/texts.ts'

const ROOT = join(import.meta.dirname, '..')
const NAME_RULES = ['type-name', 'local-type-name', 'banned-word']
const TEXT_BYTES_MAX = 4 * 1024 * 1024

function readProject(): Project {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const texts = new Map<string, string>()
  for (const path of [...new Set(listed.split('\0'))].sort()) {
    const file = join(ROOT, path)
    if (path === '' || !existsSync(file)) continue
    const stat = statSync(file)
    if (!stat.isFile() || stat.size > TEXT_BYTES_MAX) continue
    const text = readFileSync(file, 'utf8')
    if (!text.includes('\0')) texts.set(path, text)
  }
  // A file of this repository; if its shape is wrong, the rules fail at once.
  return projectOf(texts, JSON.parse(texts.get('architecture.json') ?? '{}') as Architecture)
}

/** Writes the derived parts, and returns the updated project. */
function refresh({ texts, architecture }: Project, findings: readonly Finding[]): Project {
  replace('architecture.json', (text) => lowerCeilings(text, findings))
  if (texts.has('ARCHITECTURE.md'))
    replace('ARCHITECTURE.md', (text) => withTiers(text, architecture))
  return readProject()
}

function replace(path: string, edit: (text: string) => string): void {
  const file = join(ROOT, path)
  writeFileSync(file, edit(readFileSync(file, 'utf8')))
}

function check(read: Project, write: boolean): number {
  const project = write ? refresh(read, findAll(read)) : read
  const all = findAll(project)
  const findings = overCeilings(all, project.architecture.ceilings)
  for (const finding of findings) console.log(render(finding))
  const below = all.length - findings.length
  console.log(
    `tidy: ${project.code.size} files, ${findings.length} findings, ${below} more below ceilings`,
  )
  return findings.length === 0 ? 0 : 1
}

function list(project: Project, rules: readonly string[]): void {
  const findings = findAll(project).filter(({ rule }) => rules.includes(rule))
  findings.sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  for (const finding of findings) console.log(render(finding))
  for (const rule of rules)
    console.log(`${rule}: ${countOf(findings.filter((finding) => finding.rule === rule))}`)
}

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    figures: { type: 'boolean', default: false },
    names: { type: 'boolean', default: false },
    list: { type: 'string', multiple: true, default: [] },
  },
})
const rules = values.names ? [...values.list, ...NAME_RULES] : values.list
const project = readProject()
if (values.figures) console.log(renderFigures(measure(project)))
else if (rules.length > 0) list(project, rules)
else process.exitCode = check(project, values.write)
