// The table of every list: selectable columns, pages by cursor and filters, with state in the URL.

import { Menu } from '@base-ui/react/menu'
import { Link } from '@tanstack/react-router'
import { Braces, Check, ChevronRight, Columns3 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useUrlState } from '../api/url-state.ts'
import type { ListResult } from '../api/use-call.ts'
import { IconButton } from './button.tsx'
import { CopyButton } from './code.tsx'
import { JsonDialog } from './json-view.tsx'
import menu from './menu.module.css'
import { RequestMenu } from './request-menu.tsx'
import { ErrorState, LoadingState } from './states.tsx'
import css from './table.module.css'

export interface Column<Row> {
  readonly id: string
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Aligns numbers to the right. */
  readonly numeric?: boolean
  /** Takes the remaining space and wraps. */
  readonly grow?: boolean
  /** Hidden until the user selects it. */
  readonly optional?: boolean
}

interface TableProps<Row> {
  /** Describes the rows for screen readers. */
  readonly label: string
  readonly list: ListResult<Row>
  readonly columns: readonly Column<Row>[]
  readonly rowId: (row: Row) => string
  /** The link of a row. */
  readonly rowLink?: (row: Row) => { to: string; params: Record<string, string> }
  readonly filters?: ReactNode
  readonly empty: ReactNode
  /** Whether the rows are signed documents, which this browser can verify. */
  readonly signed?: boolean
  /** Name for this table's state in the URL, needed by all tables of a screen but the first. */
  readonly name?: string
}

export function Table<Row>(props: TableProps<Row>) {
  const { label, list, columns, filters, empty, name = '' } = props
  const [chosen, setChosen] = useUrlState(`${name}cols`)
  const shown =
    chosen === '' ? columns.filter(({ optional }) => !optional) : chosenOf(columns, chosen)
  return (
    <div className={css['frame']}>
      <div className={css['tools']} hidden={!filters && list.rows?.length === 0}>
        <div className={css['filters']}>{filters}</div>
        <ColumnMenu
          columns={columns}
          shown={shown.map(({ id }) => id)}
          onChange={(ids) => setChosen(ids.join(','))}
        />
        <RequestMenu request={list.request} />
      </div>
      {list.error ? (
        <ErrorState error={list.error} />
      ) : list.rows === undefined ? (
        <LoadingState />
      ) : list.rows.length === 0 ? (
        empty
      ) : (
        <Rows {...props} columns={shown} rows={list.rows} label={label} />
      )}
      <Pages list={list} name={name} />
    </div>
  )
}

const chosenOf = <Row,>(columns: readonly Column<Row>[], chosen: string) => {
  const ids = chosen.split(',')
  const found = columns.filter(({ id }) => ids.includes(id))
  return found.length > 0 ? found : columns
}

// A narrow screen shows each row as a card; ARIA roles keep it a table for screen readers.
function Rows<Row>(props: TableProps<Row> & { readonly rows: readonly Row[] }) {
  const { label, columns, rows, ...rest } = props
  const [open, setOpen] = useState<Row | null>(null)
  const { rowId, list, signed } = rest
  return (
    <>
      <div className={css['scroll']}>
        <table className={css['table']} aria-label={label} aria-busy={list.isFetching}>
          <thead>
            <tr>
              {columns.map(({ id, header, numeric, grow }) => (
                <th key={id} scope="col" data-numeric={numeric} data-grow={grow}>
                  {header}
                </th>
              ))}
              <th scope="col" className={css['last']}>
                <span className="visually-hidden">Row actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <TableRow key={rowId(row)} row={row} columns={columns} onJson={setOpen} {...rest} />
            ))}
          </tbody>
        </table>
      </div>
      <JsonDialog
        title={open === null ? '' : rowId(open)}
        value={open}
        open={open !== null}
        onClose={() => setOpen(null)}
        signed={signed}
      />
    </>
  )
}

function TableRow<Row>(
  props: Omit<TableProps<Row>, 'label'> & {
    readonly row: Row
    readonly onJson: (row: Row) => void
  },
) {
  const { row, columns, rowId, rowLink, onJson } = props
  const id = rowId(row)
  const link = rowLink?.(row)
  return (
    <tr>
      {columns.map(({ id: column, header, cell, numeric, grow }) => (
        <td key={column} data-label={header} data-numeric={numeric} data-grow={grow}>
          <div>{cell(row)}</div>
        </td>
      ))}
      <td className={css['last']}>
        <span className={css['acts']}>
          <CopyButton text={id} label={`Copy id ${id}`} />
          <IconButton label={`JSON of ${id}`} icon={Braces} onClick={() => onJson(row)} />
          {link && (
            <Link {...link} search={{}} className={css['open']} aria-label={`Open ${id}`}>
              <ChevronRight size={16} aria-hidden />
            </Link>
          )}
        </span>
      </td>
    </tr>
  )
}

function Pages<Row>({ list, name }: { readonly list: ListResult<Row>; readonly name: string }) {
  const [cursor, setCursor] = useUrlState(`${name}cursor`)
  const { rows, nextCursor } = list
  if (!rows || (cursor === '' && !nextCursor)) {
    return rows && rows.length > 0 ? (
      <p className={css['count']}>{rows.length === 1 ? '1 row' : `${rows.length} rows`}</p>
    ) : null
  }
  return (
    <nav className={css['pages']} aria-label="Pages">
      <span className={css['count']}>{rows.length} rows on this page</span>
      <button type="button" disabled={cursor === ''} onClick={() => setCursor('')}>
        First page
      </button>
      <button
        type="button"
        disabled={!nextCursor}
        onClick={() => nextCursor && setCursor(nextCursor)}
      >
        Next page
      </button>
    </nav>
  )
}

function ColumnMenu(props: {
  readonly columns: readonly { readonly id: string; readonly header: string }[]
  readonly shown: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}) {
  const { columns, shown, onChange } = props
  const toggle = (id: string) => {
    const next = columns
      .map((column) => column.id)
      .filter((one) => (one === id ? !shown.includes(one) : shown.includes(one)))
    if (next.length > 0) onChange(next)
  }
  return (
    <Menu.Root>
      <Menu.Trigger className={menu['trigger']} aria-label="Columns" title="Columns">
        <Columns3 size={16} aria-hidden />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className={menu['positioner']} sideOffset={4} align="end">
          <Menu.Popup className={menu['popup']}>
            {columns.map(({ id, header }) => (
              <Menu.CheckboxItem
                key={id}
                className={menu['item']}
                checked={shown.includes(id)}
                onCheckedChange={() => toggle(id)}
              >
                <span className={menu['tick']}>
                  <Menu.CheckboxItemIndicator>
                    <Check size={14} aria-hidden />
                  </Menu.CheckboxItemIndicator>
                </span>
                {header}
              </Menu.CheckboxItem>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
