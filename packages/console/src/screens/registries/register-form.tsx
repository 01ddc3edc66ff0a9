// The form that makes a record: a field for each thing that the registry asks for.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'
import type { Filled, RecordRow, RegisterField, RegistrySpec } from './registry.ts'

type RegisterFormProps = RegistrySpec<RecordRow, RecordRow>['register'] & {
  readonly registry: string
}

export function RegisterForm({ registry, verb, fields, send }: RegisterFormProps) {
  const first = Object.fromEntries(fields.map(({ name, initial = '' }) => [name, initial]))
  const [filled, setFilled] = useState<Filled>(first)
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

interface OneFieldProps {
  readonly field: RegisterField
  readonly value: string
  readonly onChange: (value: string) => void
}

function OneField({ field, value, onChange }: OneFieldProps) {
  const { label, hint, kind, options } = field
  const common = { label, hint, value, onChange }
  if (options) return <SelectField {...common} options={options} />
  if (kind) return <TextArea {...common} rows={kind === 'json' ? 8 : 4} spellCheck={false} />
  return <TextField {...common} />
}
