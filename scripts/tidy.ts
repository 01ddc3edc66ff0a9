// The house rules that no formatter or compiler knows: `npm run tidy`, with `-- --write` to refresh
// the tiers in ARCHITECTURE.md and to lower the ceiling of type assertions.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from './tidy/architecture.ts'
import { countCasts } from './tidy/casts.ts'
import { type Project, projectOf } from './tidy/project.ts'
import { checkAll, render } from './tidy/rules.ts'
import { withTiers } from './tidy/texts.ts'

const ROOT = join(import.meta.dirname, '..')
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
  // Our own file; a wrong shape fails the rules at once.
  return projectOf(texts, JSON.parse(texts.get('architecture.json') ?? '{}') as Architecture)
}

/** Writes what can be derived, and returns the project as it is then. */
function refresh(project: Project): Project {
  const { total } = countCasts(project)
  const { casts } = project.architecture.limits
  if (total < casts) replace('architecture.json', (t) => t.replace(/("casts": )\d+/, `$1${total}`))
  if (project.texts.has('ARCHITECTURE.md'))
    replace('ARCHITECTURE.md', (text) => withTiers(text, project.architecture))
  return readProject()
}

function replace(path: string, edit: (text: string) => string): void {
  const file = join(ROOT, path)
  writeFileSync(file, edit(readFileSync(file, 'utf8')))
}

const read = readProject()
const project = process.argv.includes('--write') ? refresh(read) : read
const findings = checkAll(project)
for (const finding of findings) console.log(render(finding))
const { total, lines } = countCasts(project)
const perThousand = lines === 0 ? 0 : (total * 1000) / lines
console.log(
  `tidy: ${project.code.size} files, ${findings.length} findings, ` +
    `${total} type assertions in ${lines} product lines (${perThousand.toFixed(1)} per 1000)`,
)
process.exitCode = findings.length === 0 ? 0 : 1
