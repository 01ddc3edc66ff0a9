// Verdicts as text: every check with its result, what was not checked, the keys that signed.

import type { Verdict } from '@custos/proof'

export interface Judged {
  readonly file: string
  readonly where: string
  readonly verdict: Verdict
}

/** Beyond this many documents only those that fail are shown in full. */
const SHOWN_MAX = 20

export function reportLines(judged: readonly Judged[]): string[] {
  const brief = judged.length > SHOWN_MAX
  const shown = judged.filter(({ verdict }) => !brief || !verdict.valid).slice(0, 10 * SHOWN_MAX)
  const lines = shown.flatMap(documentLines)
  const valid = judged.filter(({ verdict }) => verdict.valid).length
  if (brief) lines.push(...sharedLines(judged))
  if (judged.length > 1) lines.push(`${valid} of ${judged.length} valid`)
  return lines
}

function documentLines({ file, where, verdict }: Judged): string[] {
  const name = where === '' ? file : `${file}, ${where}`
  const verb = verdict.valid ? 'valid' : 'INVALID'
  return [
    `${name}: ${verdict.type}`,
    ...verdict.checks.map(({ name, ok, detail }) =>
      ok ? `  ok    ${name}` : `  FAIL  ${name}${detail ? `: ${detail}` : ''}`,
    ),
    ...verdict.not_checked.map((text) => `  not checked: ${text}`),
    ...(verdict.valid_with.length > 0 ? [`  signed by ${verdict.valid_with.join(', ')}`] : []),
    `  ${verb}${verdict.reason ? `: ${verdict.reason}` : ''}`,
  ]
}

// What is the same for thousands of records is said once.
function sharedLines(judged: readonly Judged[]): string[] {
  const unchecked = new Set(judged.flatMap(({ verdict }) => verdict.not_checked))
  const signers = new Set(judged.flatMap(({ verdict }) => verdict.valid_with))
  return [
    ...[...unchecked].map((text) => `not checked: ${text}`),
    ...(signers.size > 0 ? [`signed by ${[...signers].join(', ')}`] : []),
  ]
}

/** Signed by the key in the document, but nobody vouched for that key. */
export const lacksKeys = (judged: readonly Judged[]): boolean =>
  judged.some(({ verdict }) =>
    verdict.checks.some(({ name, detail }) => name === 'key_known' || detail === 'unknown_key'),
  )
