// The form of a tool that sends a request: new, or in place of the one of that name.

import { llmCreateTool } from '@custos/client/operations'
import type { LlmCreateToolBody, Tool } from '@custos/client/types'
import { useState } from 'react'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField, Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

const EFFECTS = [
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
export function ToolForm({ tool, done }: { readonly tool?: Tool; readonly done: () => void }) {
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
        options={EFFECTS}
        onChange={(value) => setEffect(EFFECTS.find(([one]) => one === value)?.[0] ?? 'once')}
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
