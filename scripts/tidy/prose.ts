// Checks comments and pages for banned phrases, comments for a first word "Of", and the glossary
// for duplicates and length.

import { type Code, commentsOf, type Finding, type Project } from './project.ts'

/** Files of the contract. All their text is checked, because it becomes public pages. */
const CONTRACT = /^packages\/contract\/(?!.*\.test\.ts$)/

const BANNED: readonly (readonly [phrase: string, use: string])[] = [
  ['anew', 'again, or new'],
  ['of ours', 'our, or the name of the thing'],
  ['so many', 'the number'],
  ['as it stands', 'current'],
  ['what (?:came|comes|has come) of', 'the result'],
  ['whoever', 'the person, caller or owner who'],
  ['is owed', 'is due'],
  ['goes by', 'uses'],
  ['in turn', 'one after another'],
  ['made of', 'built from, or consists of'],
  ['stands? behind', 'implements, or protects'],
]
/** Matches the gap between two words: blanks, or a line break with the next comment mark. */
const GAP = '(?:[ \\t]+|[ \\t]*\\n[ \\t]*(?:\\/\\/|\\*)?[ \\t]*)'
const PHRASES = new RegExp(
  `\\b(?:${BANNED.map(([phrase]) => `(${phrase.replaceAll(' ', GAP)})`).join('|')})\\b`,
  'gi',
)

/** Finds banned phrases in comments, Markdown and the texts of the contract. */
export function checkPhrases({ code, texts }: Project): Finding[] {
  const findings: Finding[] = []
  for (const file of code.values())
    findings.push(...phrases(file.path, CONTRACT.test(file.path) ? file.text : comments(file)))
  for (const [path, text] of texts)
    if (path.endsWith('.md')) findings.push(...phrases(path, withoutCode(text)))
  return findings
}

function phrases(path: string, text: string): Finding[] {
  return [...text.matchAll(PHRASES)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length
    const [phrase, ...groups] = match
    const use = BANNED[groups.findIndex((group) => group !== undefined)]?.[1] ?? 'plain words'
    const message = `"${phrase.replaceAll(/[\s/*]+/g, ' ')}" is banned`
    return { path, line, rule: 'banned-phrase', message, use }
  })
}

const FRAGMENT = /^(?:\/\*\*?\s*\*?|\/\/)\s*Of\s/

/** Finds comments that begin with "Of", because the noun before it is missing. */
export function checkFragments({ code }: Project): Finding[] {
  return [...code.values()].flatMap((file) =>
    commentsOf(file).flatMap(({ line, text }) => {
      if (!FRAGMENT.test(text)) return []
      const message = 'a comment begins with "Of"'
      return [{ path: file.path, line, rule: 'comment-fragment', message, use: 'its noun' }]
    }),
  )
}

/** The comments of a file, at their original lines. */
function comments(code: Code): string {
  const lines: string[] = []
  for (const { line, text } of commentsOf(code))
    for (const [index, part] of text.split('\n').entries()) {
      while (lines.length < line + index) lines.push('')
      lines[line + index - 1] += ` ${part}`
    }
  return lines.join('\n')
}

/** Markdown without code blocks and code spans. */
function withoutCode(page: string): string {
  return page.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, (code) => code.replaceAll(/[^\n]/g, ' '))
}

const PAGE = 'STYLE.md'

/** Checks that the glossary of STYLE.md is short and defines no word twice. */
export function checkGlossary({ architecture, texts }: Project): Finding[] {
  const max = architecture.limits.glossary_entries
  const rows = glossaryRows(texts.get(PAGE) ?? '')
  const at = { path: PAGE, rule: 'glossary' }
  const findings: Finding[] = []
  for (const [index, { word, line }] of rows.entries()) {
    if (rows.findIndex((row) => row.word === word) < index)
      findings.push({ ...at, line, message: `${word} has two meanings`, use: 'one row a word' })
    if (index === max) {
      const message = `${rows.length} entries, at most ${max}`
      findings.push({ ...at, line, message, use: 'the words a reader cannot guess' })
    }
  }
  return findings
}

function glossaryRows(page: string): { word: string; line: number }[] {
  const lines = page.split('\n')
  const start = lines.indexOf('## Glossary')
  const rows: { word: string; line: number }[] = []
  if (start < 0) return rows
  for (const [index, line] of lines.entries()) {
    if (index <= start) continue
    if (line.startsWith('## ')) break
    const [, word] = /^\|\s*([^|]*?)\s*\|/.exec(line) ?? []
    if (word) rows.push({ word: word.replaceAll(/[*`]/g, '').toLowerCase(), line: index + 1 })
  }
  // Skips the head of the table and the line under it.
  return rows.slice(2)
}
