// Tools that models may call: requests to fixed addresses, and the built-in memory tools.

import { llmDeleteTool, llmListTools, llmSeedBuiltins } from '@custos/client/operations'
import type { Tool } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { useList, usePage } from '../../api/use-list.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { inWords, Pill } from '../../parts/display.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './agents.module.css'
import { ToolForm } from './tool-form.tsx'

const EFFECTS = {
  read: 'changes nothing',
  idempotent: 'may be repeated',
  once: 'never repeated',
} as const satisfies Record<Tool['effect'], string>

const COLUMNS: readonly Column<Tool>[] = [
  {
    id: 'name',
    header: 'Name',
    grow: true,
    cell: ({ name, description }) => (
      <>
        <strong>{name}</strong> {description}
      </>
    ),
  },
  {
    id: 'does',
    header: 'Does',
    cell: ({ tool_type: type, method, url }) =>
      type === 'http' ? `${method} ${url}` : inWords(type),
  },
  { id: 'effect', header: 'Effect', cell: ({ effect }) => EFFECTS[effect] },
  {
    id: 'state',
    header: 'State',
    cell: ({ enabled }) => (
      <Pill tone={enabled ? 'good' : 'plain'}>{enabled ? 'enabled' : 'disabled'}</Pill>
    ),
  },
  { id: 'headers', header: 'Headers', optional: true, cell: ({ headers }) => headers.join(', ') },
  { id: 'version', header: 'Version', numeric: true, optional: true, cell: (row) => row.version },
  {
    id: 'created',
    header: 'Created (UTC)',
    optional: true,
    cell: ({ created_at }) => <Time value={created_at} />,
  },
  { id: 'acts', header: '', cell: (row) => <Acts tool={row} /> },
]

export function Tools() {
  const name = 'tools_'
  const [adding, setAdding] = useState(false)
  const list = useList(llmListTools, [usePage(name)], ({ tools }) => tools)
  const seed = useAction(llmSeedBuiltins)
  return (
    <>
      <div className={css['acts']}>
        <Button icon={Plus} onClick={() => setAdding(true)}>
          New tool
        </Button>
        <Button busy={seed.isPending} onClick={() => seed.mutate([])}>
          Add the tools of memory
        </Button>
      </div>
      {seed.error && <ErrorState error={seed.error} />}
      <Table
        name={name}
        label="Tools"
        list={list}
        columns={COLUMNS}
        rowId={({ name: tool }) => tool}
        empty={<EmptyState title="No tools" />}
      />
      <Dialog title="New tool" open={adding} onClose={() => setAdding(false)} wide>
        <ToolForm done={() => setAdding(false)} />
      </Dialog>
    </>
  )
}

function Acts({ tool }: { readonly tool: Tool }) {
  const [asked, setAsked] = useState<'change' | 'delete' | null>(null)
  const remove = useAction(llmDeleteTool)
  const close = () => setAsked(null)
  const { name, tool_type: type } = tool
  return (
    <span className={css['acts']}>
      {type === 'http' && (
        <Button aria-label={`Change the tool ${name}`} onClick={() => setAsked('change')}>
          Change
        </Button>
      )}
      <Button
        kind="danger"
        aria-label={`Delete the tool ${name}`}
        onClick={() => setAsked('delete')}
      >
        Delete
      </Button>
      <Dialog title="Change the tool" open={asked === 'change'} onClose={close} wide>
        <ToolForm tool={tool} done={close} />
      </Dialog>
      <ConfirmDialog
        title="Delete the tool"
        open={asked === 'delete'}
        onClose={close}
        verb="Delete"
        act={() => remove.mutateAsync([name])}
      >
        <p>No run of this service calls it any longer. Its headers are destroyed.</p>
      </ConfirmDialog>
    </span>
  )
}
