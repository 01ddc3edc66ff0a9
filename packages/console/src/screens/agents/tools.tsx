// Tools that models may call: requests to fixed addresses, and the built-in memory tools.

import {
  llmCreateTool,
  llmDeleteTool,
  llmListTools,
  llmSeedBuiltins,
} from '@custos/client/operations'
import type { LlmCreateToolBody, Tool } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { inWords, Pill } from '../../parts/display.tsx'
import { CheckField, Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './agents.module.css'

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

const EFFECT_OPTIONS = [
  ['once', 'Doing it twice does harm: it is never repeated'],
  ['idempotent', 'It may be repeated'],
  ['read', 'It changes nothing'],
] as const satisfies readonly (readonly [Tool['effect'], string])[]
const METHODS = [
  ['POST', 'POST'],
  ['GET', 'GET'],
] as const
const NO_ARGUMENTS = { type: 'object', properties: {} }

function schemaOf(text: string): Record<string, unknown> {
  try {
    const schema: unknown = JSON.parse(text)
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema))
      return { ...schema }
  } catch {
    // The error below covers this and any text that is not an object.
  }
  throw new Error('The schema of the arguments is not a JSON object')
}

/** Parses headers: `Name: value`, one per line. */
function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new Error('A header is written as Name: value')
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
  }
  return headers
}

const draftOf = (tool: Tool | undefined) => ({
  name: tool?.name ?? '',
  description: tool?.description ?? '',
  url: tool?.url ?? '',
  schema: JSON.stringify(tool?.input_schema ?? NO_ARGUMENTS, null, 2),
  headers: tool?.headers.map((name) => `${name}: `).join('\n') ?? '',
})

/** The form of a tool, or of a new one if `tool` is absent. */
function ToolForm({ tool, done }: { readonly tool?: Tool; readonly done: () => void }) {
  const [texts, setTexts] = useState(() => draftOf(tool))
  const [effect, setEffect] = useState<Tool['effect']>(tool?.effect ?? 'once')
  const [method, setMethod] = useState<'GET' | 'POST'>(tool?.method ?? 'POST')
  const [enabled, setEnabled] = useState(tool?.enabled ?? true)
  const [error, setError] = useState<unknown>(null)
  const create = useAction(llmCreateTool)
  const submit = async () => {
    setError(null)
    try {
      const { name, description, url, schema, headers } = texts
      const input_schema = schemaOf(schema)
      const common = { name, description, url, method, effect, enabled }
      const body: LlmCreateToolBody = { ...common, input_schema, headers: headersOf(headers) }
      await create.mutateAsync([body])
      done()
    } catch (caught) {
      setError(caught)
    }
  }
  return (
    <Form label="Tool" onSubmit={submit}>
      <ToolTexts tool={tool} texts={texts} change={(part) => setTexts({ ...texts, ...part })} />
      <SelectField
        label="Method"
        value={method}
        options={METHODS}
        onChange={(value) => setMethod(value === 'GET' ? 'GET' : 'POST')}
      />
      <SelectField
        label="Effect"
        value={effect}
        options={EFFECT_OPTIONS}
        onChange={(value) =>
          setEffect(EFFECT_OPTIONS.find(([one]) => one === value)?.[0] ?? 'once')
        }
      />
      <CheckField label="Runs may call it" checked={enabled} onChange={setEnabled} />
      {error !== null && <ErrorState error={error} />}
      <Button type="submit" kind="primary" busy={create.isPending}>
        Save
      </Button>
    </Form>
  )
}

function ToolTexts(props: {
  readonly tool: Tool | undefined
  readonly texts: ReturnType<typeof draftOf>
  readonly change: (part: Partial<ReturnType<typeof draftOf>>) => void
}) {
  const { tool, texts, change } = props
  return (
    <>
      <TextField
        label="Name"
        hint="Letters, digits, - and _"
        required
        maxLength={64}
        readOnly={tool !== undefined}
        value={texts.name}
        onChange={(name) => change({ name })}
      />
      <TextField
        label="What it does"
        hint="The model reads it"
        required
        value={texts.description}
        onChange={(description) => change({ description })}
      />
      <TextField
        label="Address"
        hint="https://…; {name} in it is the argument of that name"
        required
        value={texts.url}
        onChange={(url) => change({ url })}
      />
      <TextArea
        label="Arguments (JSON Schema)"
        value={texts.schema}
        onChange={(schema) => change({ schema })}
      />
      <TextArea
        label="Headers"
        hint={
          tool && tool.headers.length > 0
            ? 'Name: value, one a line. Values are never shown: give them again'
            : 'Name: value, one a line. Stored sealed and never shown'
        }
        value={texts.headers}
        onChange={(headers) => change({ headers })}
      />
    </>
  )
}
