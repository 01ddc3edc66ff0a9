// The search for a person: what identifies them, and what was found, where, and under which hold.

import type { SubjectsEraseBody, SubjectsErasePreview } from '@custos/client/types'
import type { ReactNode } from 'react'
import { Button } from '../../parts/button.tsx'
import { Figure, Figures, formatNumber, inWords } from '../../parts/display.tsx'
import css from './subjects.module.css'

export interface PersonFields {
  /** One name, address or number on each line. */
  readonly texts: string
  /** One `field = value` on each line. */
  readonly metadata: string
  /** One session on each line. */
  readonly sessions: string
  readonly exactCase: boolean
  /** Date of receipt; may be empty. */
  readonly received: string
}

export const NOBODY: PersonFields = {
  texts: '',
  metadata: '',
  sessions: '',
  exactCase: false,
  received: '',
}

type FindGroup = Extract<NonNullable<SubjectsEraseBody['find']>, readonly unknown[]>[number]

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The search groups. Each line is an alternative, one of which must match. */
export function groupsOf({ texts, metadata, sessions, exactCase }: PersonFields): FindGroup[] {
  const match = exactCase ? 'exact_case' : 'ignore_case'
  return [
    ...linesOf(texts).map((text): FindGroup => ({ text, match })),
    ...linesOf(metadata).flatMap(metadataGroups),
    ...linesOf(sessions).map((session_id): FindGroup => ({ session_id })),
  ]
}

// A number may be stored as a number or as a text.
function metadataGroups(line: string): FindGroup[] {
  const at = line.indexOf('=')
  if (at < 1) return []
  const name = line.slice(0, at).trim()
  const value = line.slice(at + 1).trim()
  const asText: FindGroup = { metadata: { [name]: value } }
  return /^-?\d{1,15}$/.test(value) ? [asText, { metadata: { [name]: Number(value) } }] : [asText]
}

export const searchOf = (person: PersonFields): SubjectsEraseBody => ({
  find: groupsOf(person),
  ...(person.received === '' ? {} : { received_at: `${person.received}T00:00:00Z` }),
})

export type SubjectPreview = SubjectsErasePreview

export function FoundView(props: {
  readonly preview: SubjectPreview
  /** A button to save a copy of the data before the erasure. */
  readonly letter: ReactNode
  readonly onContinue: () => void
}) {
  const { preview, letter, onContinue } = props
  const { found, scanned, session_ids: sessions, sample_refs: refs } = preview
  return (
    <>
      <Figures>
        <Figure label="Memories, all versions" value={found.facts} />
        <Figure label="Decisions that used them" value={found.decisions_using} />
        <Figure label="Decisions that name the person" value={found.decisions_naming} />
        <Figure label="Other records" value={found.texts} />
      </Figures>
      {found.held > 0 && (
        <p className={css['held']} role="alert">
          {found.held === 1 ? '1 of them is' : `${found.held} of them are`} under a legal hold and
          will be kept. The manifest names them.
        </p>
      )}
      <FoundPlaces preview={preview} />
      <p className={css['fine']}>
        Searched: memories {formatNumber(scanned.facts)}, decisions{' '}
        {formatNumber(scanned.decisions)}, other records {formatNumber(scanned.texts)}.
        {refs.length > 0 && ` Some of the memories: ${refs.slice(0, 20).join(', ')}.`}
        {sessions.length > 0 &&
          ` Found in sessions, which you can search for too: ${sessions.join(', ')}.`}
      </p>
      {preview.not_searched.length > 0 && (
        <details>
          <summary>Not searched ({preview.not_searched.length})</summary>
          <ul className={css['limits']}>
            {preview.not_searched.map((place) => (
              <li key={place}>{place}</li>
            ))}
          </ul>
        </details>
      )}
      <div className={css['buttons']}>
        <Button kind="primary" onClick={onContinue}>
          Continue with this
        </Button>
        {letter}
      </div>
    </>
  )
}

function FoundPlaces({ preview: { found } }: { readonly preview: SubjectPreview }) {
  const places = [
    ...found.stores.map(({ store_id, facts, held }) => ({
      name: `Store ${store_id}`,
      many: facts,
      held,
    })),
    ...found.kinds.map(({ kind, texts, held }) => ({ name: inWords(kind), many: texts, held })),
  ]
  if (places.length === 0) return null
  return (
    <table className={css['places']} aria-label="Where it is">
      <thead>
        <tr>
          <th scope="col">Where</th>
          <th scope="col">Items</th>
          <th scope="col">On hold</th>
        </tr>
      </thead>
      <tbody>
        {places.map(({ name, many, held }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatNumber(many)}</td>
            <td>{formatNumber(held)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
