// The result of a search for a person: amounts, places, and what a legal hold protects.

import type { SubjectsErasePreview } from '@custos/client/types'
import type { ReactNode } from 'react'
import { Button } from '../../parts/button.tsx'
import { Figure, Figures, formatNumber, inWords } from '../../parts/display.tsx'
import css from './subjects.module.css'

export type SubjectPreview = SubjectsErasePreview

interface FoundViewProps {
  readonly preview: SubjectPreview
  /** A button to save a copy of the data before the erasure. */
  readonly letter: ReactNode
  readonly onContinue: () => void
}

export function FoundView({ preview, letter, onContinue }: FoundViewProps) {
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
