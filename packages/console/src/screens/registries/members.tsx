// Members of records: layers, and rows of names and values.

import type { ReactNode } from 'react'
import { CodeBlock } from '../../parts/code.tsx'
import { Section } from '../../parts/page-header.tsx'
import css from './registries.module.css'

/** A plain table of the members of one record. */
export function MemberTable(props: {
  readonly label: string
  readonly headers: readonly string[]
  /** Each row with its key. */
  readonly rows: readonly (readonly [key: string, cells: readonly ReactNode[]])[]
}) {
  const { label, headers, rows } = props
  return (
    <table className={css['members']} aria-label={label}>
      <thead>
        <tr>
          {headers.map((header) => (
            <th key={header} scope="col">
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([key, cells]) => (
          <tr key={key}>
            {cells.map((cell, i) => (
              <td key={headers[i]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export const Layers = ({ hashes }: { readonly hashes: readonly string[] }) => (
  <Section title="Layers" about="SHA-256 of each layer, in order.">
    <CodeBlock label="Digests of the layers" text={hashes.join('\n')} />
  </Section>
)
