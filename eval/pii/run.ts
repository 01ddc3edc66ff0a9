// npm run eval:pii: what the recognisers of personal data find in a labelled set, type by type.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findPersonalData } from '@custos/pii'
import { readLabelled } from '../data/pii.ts'
import { LABELS, type LabelMismatch, measure, type TypeFigures } from './figures.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const { values } = parseArgs({
  options: {
    data: {
      type: 'string',
      default: join(ROOT, '..', 'shared', 'data', 'pii', 'synth_dataset_v2.json'),
    },
    /** all, or the sentences with even or odd positions. */
    half: { type: 'string', default: 'all' },
    /** Also what was found where no label is, and what was missed. */
    details: { type: 'boolean', default: false },
  },
})

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : (part / whole).toFixed(3).replace(/^0/, '')
}

function row(figures: TypeFigures): string {
  const { label, entities, spans, found, exact, touched, exact_found, touched_found, leaks } =
    figures
  const cells = [
    ...[label, entities.join(', ') || 'none', String(spans), String(found)],
    ...[percent(exact_found, found), percent(exact, spans)],
    ...[percent(touched_found, found), percent(touched, spans), percent(leaks, spans)],
  ]
  return `| ${cells.join(' | ')} |`
}

function table(rows: readonly TypeFigures[]): string {
  const head =
    '| label | entities | spans | found | P exact | R exact | P overlap | R overlap | leaks |'
  return [head, '|---|---|---|---|---|---|---|---|---|', ...rows.map(row)].join('\n')
}

function printDetails(details: readonly LabelMismatch[]): void {
  for (const { kind, name, text, at } of details) console.log(`${kind} ${name} ${at}: ${text}`)
}

const set = readLabelled(values.data)
if (set === null) console.log(`The data set is not there: ${values.data}`)
else {
  console.log(`${set.bytes} bytes, SHA-256 ${set.sha256}; ${set.texts.length} texts`)
  const halves = values.half === 'all' ? ['all', 'even', 'odd'] : [values.half]
  for (const half of halves) {
    const texts = set.texts.filter((_, i) => half === 'all' || (i % 2 === 0) === (half === 'even'))
    const { rows, details } = measure(texts, (text) => findPersonalData(text), LABELS)
    console.log(`\n${half}: ${texts.length} texts\n\n${table(rows)}`)
    if (values.details) printDetails(details)
  }
}
