// Resolves an uncertain tool call: a person who checked states whether it acted; the run resumes.

import { orchestratorResolveCall } from '@custos/client/operations'
import type { RunCall } from '@custos/client/types'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Form, SelectField, TextArea } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'

/** The answers. None is preselected, because a wrong answer cannot be undone. */
const ANSWERS = [
  ['', 'Choose'],
  ['yes', 'The tool acted'],
  ['no', 'The tool did not act'],
] as const

export function ResolveCall({ call }: { readonly call: RunCall }) {
  const { can } = useSession()
  const [happened, setHappened] = useState('')
  const [result, setResult] = useState('')
  const resolve = useAction(orchestratorResolveCall)
  const { run_id, call_id } = call
  return (
    <Section
      title="Did the tool act?"
      about="Its call was cut off, and is never made again. Look at the receiver first."
    >
      {!can('orchestrator:admin') && <p>Your scopes do not cover this: somebody else answers.</p>}
      {can('orchestrator:admin') && (
        <Form
          label={`Outcome of the call ${call_id}`}
          onSubmit={() =>
            resolve.mutate([
              run_id,
              call_id,
              { happened: happened === 'yes', result: result === '' ? null : result },
            ])
          }
        >
          <SelectField
            label="What happened"
            value={happened}
            options={ANSWERS}
            onChange={setHappened}
          />
          <TextArea
            label="What it answered"
            hint="The model is told this; it can be empty."
            value={result}
            onChange={setResult}
          />
          {resolve.error && <ErrorState error={resolve.error} />}
          <Button type="submit" kind="primary" busy={resolve.isPending} disabled={happened === ''}>
            Record the outcome
          </Button>
        </Form>
      )}
    </Section>
  )
}
