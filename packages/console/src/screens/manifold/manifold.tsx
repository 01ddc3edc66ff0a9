// The manifold: decisions on a plane by their content, in cells, and the same as a table.

import { call } from '@custos/client/core'
import { manifoldExport, manifoldPicture } from '@custos/client/operations'
import type { ManifoldExportReply } from '@custos/client/types'
import { Link } from '@tanstack/react-router'
import { client } from '../../api/connection.ts'
import { useUrlState } from '../../api/url-state.ts'
import { useCall } from '../../api/use-call.ts'
import { Id } from '../../parts/code.tsx'
import { counted, formatNumber } from '../../parts/display.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { PageHeader, Section } from '../../parts/page-header.tsx'
import { SaveButton } from '../../parts/save-button.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { CellCanvas, LENSES, type Lens, lensOf, type ManifoldCell } from './cell-canvas.tsx'
import css from './manifold.module.css'

const DIMENSION = 'receivables'

export function Manifold() {
  const [asked, setDimension] = useUrlState('dimension')
  const dimension = asked || DIMENSION
  const { data, error, request } = useCall(manifoldExport, [{ dimension }], { keep: true })
  return (
    <>
      <PageHeader
        title="Manifold"
        about="Decisions with similar texts are neighbours. It shows where outcomes are bad."
        actions={<SavePicture dimension={dimension} />}
        request={request}
      />
      <Section title="Map">
        <Form inline label="Filters" onSubmit={() => undefined}>
          <TextField
            label="Dimension"
            pattern="[a-z0-9][a-z0-9_.\-]*"
            value={dimension}
            onChange={setDimension}
          />
        </Form>
      </Section>
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data && data.cells.length === 0 && (
        <EmptyState title="There is no map yet">
          <p>It takes three decisions. There are {data.meta.nDecisions}.</p>
        </EmptyState>
      )}
      {data && data.cells.length > 0 && <Cells reply={data} />}
    </>
  )
}

const SavePicture = ({ dimension }: { readonly dimension: string }) => (
  <SaveButton
    label="Save as SVG"
    load={async () => {
      const svg = await call(client, manifoldPicture, { dimension })
      return { blob: new Blob([svg], { type: 'image/svg+xml' }), filename: 'manifold.svg' }
    }}
  />
)

function Cells({ reply }: { readonly reply: ManifoldExportReply }) {
  const [asked, setLens] = useUrlState('lens')
  const [chosen, choose] = useUrlState('cell')
  const lens = lensOf(asked)
  const count = reply.meta.nDecisions
  const cell = reply.cells.find(({ id }) => id === chosen)
  return (
    <>
      <Section
        title={`${counted(count, 'decision')} in ${counted(reply.cells.length, 'cell')}`}
        about={lens.about}
        actions={
          <Form inline label="Lens" onSubmit={() => undefined}>
            <SelectField
              label="Colour by"
              value={lens.id}
              options={LENSES.map(({ id, title }) => [id, title] as const)}
              onChange={setLens}
            />
          </Form>
        }
      >
        <CellCanvas
          cells={reply.cells}
          size={reply.hex_px}
          lens={lens}
          chosen={chosen}
          onChoose={choose}
        />
        {cell && <OneCell cell={cell} />}
      </Section>
      <CellTable cells={reply.cells} lens={lens} onChoose={choose} />
    </>
  )
}

const OneCell = ({ cell }: { readonly cell: ManifoldCell }) => (
  <div role="status" className={css['cell']}>
    <p>
      <strong>{cell.label}</strong>: {counted(cell.count, 'decision')}, {cell.lenses.resolved} with
      an outcome. The newest:
    </p>
    <ul>
      {cell.exemplars.map((decisionId) => (
        <li key={decisionId}>
          <Link to="/decisions/$decisionId" params={{ decisionId }} search={{}}>
            <Id value={decisionId} copy={false} />
          </Link>
        </li>
      ))}
    </ul>
  </div>
)

const SHOWN = 500

function CellTable(props: {
  readonly cells: readonly ManifoldCell[]
  readonly lens: Lens
  readonly onChoose: (cellId: string) => void
}) {
  const { cells, lens, onChoose } = props
  const sorted = cells.toSorted((a, b) => (lens.valueOf(b) ?? -1) - (lens.valueOf(a) ?? -1))
  return (
    <Section title="The same as a table">
      <table className={css['table']} aria-label="Cells">
        <thead>
          <tr>
            <th scope="col">Cell</th>
            <th scope="col">Decisions</th>
            <th scope="col">With an outcome</th>
            <th scope="col">Share paid</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, SHOWN).map((cell) => (
            <tr key={cell.id}>
              <td>
                <button type="button" className={css['link']} onClick={() => onChoose(cell.id)}>
                  {cell.label || cell.id}
                </button>
              </td>
              <td>{formatNumber(cell.count)}</td>
              <td>{formatNumber(cell.lenses.resolved)}</td>
              <td>{cell.lenses.paid === null ? '–' : `${Math.round(cell.lenses.paid * 100)} %`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  )
}
