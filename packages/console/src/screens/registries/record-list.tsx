// The list of a registry: counts by status, the records, and the form of a new one.

import type { RecordStatus } from '@custos/client/types'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Figure, Figures, inWords, Pill } from '../../parts/display.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './registries.module.css'
import type { FilledFields, RecordRow, RegisterField, RegistrySpec } from './registry.ts'

const TONES: Partial<Record<RecordStatus, 'warn' | 'bad'>> = {
  waiting_hitl: 'warn',
  denied: 'bad',
  expired: 'bad',
}
const WORDS: Readonly<Record<string, string>> = { waiting_hitl: 'waits for approval' }

const statusWords = (status: string): string => WORDS[status] ?? inWords(status)

export const StatusPill = ({ record }: { readonly record: Pick<RecordRow, 'status'> }) => (
  <Pill tone={TONES[record.status] ?? 'good'}>{statusWords(record.status)}</Pill>
)

export function RecordList<Row extends RecordRow, One extends RecordRow>(props: {
  readonly id: string
  readonly spec: RegistrySpec<Row, One>
}) {
  const { id, spec } = props
  const list = spec.useRows()
  const { can } = useSession()
  const { ListActs } = spec
  const acts = can(spec.admin) && (
    <div className={css['acts']}>
      <NewRecord {...props} />
      {ListActs && <ListActs />}
    </div>
  )
  const linkOf = (row: Row) => ({
    to: '/registries/$registry/$recordId',
    params: { registry: id, recordId: spec.idOf(row) },
  })
  const columns = columnsOf(spec, linkOf)
  return (
    <>
      <Counts spec={spec} />
      <Table
        label={spec.title}
        list={list}
        columns={columns}
        rowId={spec.idOf}
        rowLink={linkOf}
        signed
        filters={acts}
        empty={
          <EmptyState title="Nothing is registered yet">
            <p>{spec.about}</p>
            {acts}
          </EmptyState>
        }
      />
    </>
  )
}

/** The columns of a registry: its own between those that all registries have. */
function columnsOf<Row extends RecordRow, One extends RecordRow>(
  spec: RegistrySpec<Row, One>,
  linkOf: (row: Row) => { readonly to: string; readonly params: Record<string, string> },
): readonly Column<Row>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      grow: true,
      cell: (row) => (
        <>
          <Link {...linkOf(row)} search={{}}>
            {spec.nameOf(row)}
          </Link>{' '}
          {row.redacted && <Pill tone="warn">redacted</Pill>}
        </>
      ),
    },
    ...spec.columns,
    { id: 'status', header: 'State', cell: (row) => <StatusPill record={row} /> },
    { id: 'created', header: 'Created (UTC)', cell: (row) => <Time value={row.created_at} /> },
    {
      id: 'by',
      header: 'Asked by',
      optional: true,
      cell: (row) => <code>{row.requested_by}</code>,
    },
  ]
}

function Counts<Row extends RecordRow, One extends RecordRow>(props: {
  readonly spec: RegistrySpec<Row, One>
}) {
  const { spec } = props
  const counts = Object.entries(spec.useCounts() ?? {}).filter(([, count]) => count > 0)
  if (counts.length === 0) return null
  return (
    <Figures>
      {counts.map(([status, count]) => (
        <Figure key={status} label={statusWords(status)} value={count} />
      ))}
    </Figures>
  )
}

function NewRecord<Row extends RecordRow, One extends RecordRow>(
  props: Parameters<typeof RecordList<Row, One>>[0],
) {
  const { id, spec } = props
  const [open, setOpen] = useState(false)
  const { verb } = spec.register
  return (
    <>
      <Button kind="primary" icon={Plus} onClick={() => setOpen(true)}>
        {verb}
      </Button>
      <Dialog title={verb} open={open} onClose={() => setOpen(false)}>
        <RegisterForm registry={id} {...spec.register} />
      </Dialog>
    </>
  )
}

function RegisterForm({
  registry,
  verb,
  fields,
  send,
}: RegistrySpec<RecordRow, RecordRow>['register'] & {
  readonly registry: string
}) {
  const first = Object.fromEntries(fields.map(({ name, initial = '' }) => [name, initial]))
  const [filled, setFilled] = useState<FilledFields>(first)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const made = useMutation({
    mutationFn: () => send(filled),
    onSuccess: async (recordId) => {
      await queries.invalidateQueries()
      const params = { registry, recordId }
      await navigate({ to: '/registries/$registry/$recordId', params, search: {} })
    },
  })
  const missing = fields.some(({ name, optional }) => !optional && filled[name]?.trim() === '')
  return (
    <Form onSubmit={() => made.mutate()}>
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={filled[field.name] ?? ''}
          onChange={(value) => setFilled({ ...filled, [field.name]: value })}
        />
      ))}
      {made.error && <ErrorState error={made.error} />}
      <Button type="submit" kind="primary" busy={made.isPending} disabled={missing}>
        {verb}
      </Button>
    </Form>
  )
}

function OneField(props: {
  readonly field: RegisterField
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const { field, value, onChange } = props
  const { label, hint, kind, options } = field
  const common = { label, hint, value, onChange }
  if (options) return <SelectField {...common} options={options} />
  if (kind) return <TextArea {...common} rows={kind === 'json' ? 8 : 4} spellCheck={false} />
  return <TextField {...common} />
}
