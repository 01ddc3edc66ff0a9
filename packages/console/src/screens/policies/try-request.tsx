// Evaluates a trial request under the policies in force.

import { governanceEvaluate, governancePolicyTypes } from '@custos/client/operations'
import type { GovernanceEvaluateReply } from '@custos/client/types'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Pill } from '../../parts/display.tsx'
import { CheckField, Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import css from './policies.module.css'
import { ResultPill } from './results.tsx'

const OWN = 'custom.'

export function TryRequest() {
  const { data, error } = useCall(governancePolicyTypes, [])
  if (error) return <ErrorState error={error} />
  return data ? <RequestForm keys={data.operations} /> : <LoadingState />
}

/** The context of an evaluation: the values that are given, and further ones as JSON. */
function contextOf(names: readonly string[], values: ContextValues, more: string): object {
  const given = names.flatMap((name) => {
    const text = values[name] ?? ''
    return text === '' ? [] : [[name, readValue(name, text)]]
  })
  let further: unknown = {}
  try {
    further = more.trim() === '' ? {} : JSON.parse(more)
  } catch {
    throw new Error('“More of the request” is not JSON')
  }
  return { ...Object.fromEntries(given), ...(further as object) }
}

type ContextValues = Readonly<Record<string, string>>

/** Lists and numbers are written as JSON; everything else is text. */
function readValue(name: string, text: string): unknown {
  if (name === 'ref' || name === 'tokens') return Number(text)
  return name === 'sources' || name === 'members' ? text.split(/[\n,]\s*/) : text
}

function RequestForm({ keys }: { readonly keys: Readonly<Record<string, readonly string[]>> }) {
  const [operation, setOperation] = useState('tool_execution')
  const [own, setOwn] = useState('')
  const [values, setValues] = useState<ContextValues>({})
  const [more, setMore] = useState('')
  const [dry, setDry] = useState(true)
  const [failure, setFailure] = useState<unknown>(null)
  const evaluate = useAction(governanceEvaluate)
  const names = keys[operation] ?? []
  const submit = async () => {
    setFailure(null)
    try {
      const context = { ...contextOf(names, values, more) }
      const named = operation === OWN ? `${OWN}${own}` : operation
      await evaluate.mutateAsync([{ operation: named, context, dry_run: dry }])
    } catch (caught) {
      setFailure(caught)
    }
  }
  return (
    <div className={css['try']}>
      <Form onSubmit={submit} label="Request to try">
        <SelectField
          label="Operation"
          value={operation}
          onChange={setOperation}
          options={[
            ...Object.keys(keys).map((name) => [name, name] as const),
            [OWN, 'one of your own'],
          ]}
        />
        {operation === OWN && (
          <TextField label="Its name after custom." required value={own} onChange={setOwn} />
        )}
        <ContextFields names={names} values={values} onChange={setValues} />
        <TextArea
          label="More of the request"
          hint='JSON, for example {"tokens": 9000}'
          rows={2}
          spellCheck={false}
          value={more}
          onChange={setMore}
        />
        <CheckField
          label="Dry run: nothing is recorded or counted"
          checked={dry}
          onChange={setDry}
        />
        <Button type="submit" kind="primary" busy={evaluate.isPending}>
          Evaluate
        </Button>
      </Form>
      <div role="status">
        {failure !== null && <ErrorState error={failure} />}
        {failure === null && evaluate.data && <EvaluationView evaluation={evaluate.data} />}
      </div>
    </div>
  )
}

/** One field for each key that policies read for the operation. */
const ContextFields = ({
  names,
  values,
  onChange,
}: {
  readonly names: readonly string[]
  readonly values: ContextValues
  readonly onChange: (values: ContextValues) => void
}) =>
  names.map((name) => (
    <TextField
      key={name}
      label={name}
      value={values[name] ?? ''}
      onChange={(text) => onChange({ ...values, [name]: text })}
    />
  ))

const VERDICTS = {
  allowed: ['good', 'It may run'],
  denied: ['bad', 'It is refused'],
  escalated: ['warn', 'It waits for an approval'],
} as const

function EvaluationView({ evaluation }: { readonly evaluation: GovernanceEvaluateReply }) {
  const [tone, words] = VERDICTS[evaluation.verdict]
  return (
    <>
      <p className={css['verdict']}>
        <Pill tone={tone}>{evaluation.verdict}</Pill> {words}
        {evaluation.dry_run ? ' (dry run)' : ' (recorded)'}
      </p>
      {evaluation.evaluations.length === 0 && <p>No policy is enabled.</p>}
      <ul className={css['results']}>
        {evaluation.evaluations.map((one) => (
          <li key={one.policy_id} data-applies={one.applicable}>
            <ResultPill result={one.result} />
            <span>
              {one.policy_name}
              <small>{one.applicable ? one.detail : 'does not concern this request'}</small>
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
