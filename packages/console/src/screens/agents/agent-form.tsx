// The form of an agent: new, or as a change that becomes its next version.

import {
  orchestratorCreateAgent,
  orchestratorListRoles,
  orchestratorUpdateAgent,
} from '@custos/client/operations'
import type { Agent, OrchestratorCreateAgentBody } from '@custos/client/types'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Form, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { ErrorState } from '../../parts/states.tsx'

/** The initial values of the fields, as text. */
const NEW = {
  name: '',
  role: 'custom',
  description: '',
  model_id: '',
  fallback_models: '',
  system_prompt: '',
  memory_stores: '',
  tools: '',
  max_steps: '',
  max_tokens_per_step: '',
  temperature: '',
}

const draftOf = (agent: Agent): typeof NEW => ({
  name: agent.name,
  role: agent.role,
  description: agent.description,
  model_id: agent.model_id,
  fallback_models: agent.fallback_models.join(', '),
  system_prompt: agent.system_prompt,
  memory_stores: agent.memory_stores.join(', '),
  tools: agent.tools.join(', '),
  max_steps: String(agent.max_steps),
  max_tokens_per_step: String(agent.max_tokens_per_step),
  temperature: String(agent.temperature),
})

const listed = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Null for an empty field, so that the service uses its default. */
const numberOf = (text: string): number | null => (text === '' ? null : Number(text))

const bodyOf = (draft: typeof NEW, role: Agent['role']): OrchestratorCreateAgentBody => ({
  name: draft.name,
  role,
  description: draft.description,
  model_id: draft.model_id,
  fallback_models: listed(draft.fallback_models),
  system_prompt: draft.system_prompt,
  memory_stores: listed(draft.memory_stores),
  tools: listed(draft.tools),
  max_steps: numberOf(draft.max_steps),
  max_tokens_per_step: numberOf(draft.max_tokens_per_step),
  temperature: numberOf(draft.temperature),
})

/** The form of an agent, or of a new one if `agent` is absent. */
export function AgentForm({ agent, done }: { readonly agent?: Agent; readonly done: () => void }) {
  const { data } = useCall(orchestratorListRoles, [])
  const [draft, setDraft] = useState(() => (agent ? draftOf(agent) : NEW))
  const create = useAction(orchestratorCreateAgent)
  const update = useAction(orchestratorUpdateAgent)
  const roles = data?.roles ?? []
  const submit = async () => {
    const role = roles.find(({ value }) => value === draft.role)?.value ?? 'custom'
    const body = bodyOf(draft, role)
    if (agent) await update.mutateAsync([agent.agent_id, body])
    else await create.mutateAsync([body])
    done()
  }
  const error = create.error ?? update.error
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form label="Agent" onSubmit={() => submit().catch(() => undefined)}>
      <AgentFields
        draft={draft}
        roles={roles.map(({ value, label }) => [value, label])}
        change={(part) => setDraft({ ...draft, ...part })}
      />
      {error && <ErrorState error={error} />}
      <Button type="submit" kind="primary" busy={create.isPending || update.isPending}>
        {agent ? 'Save as a new version' : 'Create agent'}
      </Button>
    </Form>
  )
}

const LINES = [
  ['fallback_models', 'Other models', 'Asked, in this order, where the model does not answer'],
  ['memory_stores', 'Stores', 'Ids that its steps may read; empty: every store'],
  ['tools', 'Tools', 'Names that it may call; empty: every tool'],
] as const
const NUMBERS = [
  ['max_steps', 'Steps of a run'],
  ['max_tokens_per_step', 'Tokens of a step'],
  ['temperature', 'Temperature'],
] as const

function AgentFields(props: {
  readonly draft: typeof NEW
  readonly roles: readonly (readonly [string, string])[]
  readonly change: (part: Partial<typeof NEW>) => void
}) {
  const { draft, roles, change } = props
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={200}
        value={draft.name}
        onChange={(name) => change({ name })}
      />
      <SelectField
        label="Role"
        hint="A role gives no rights"
        value={draft.role}
        options={roles}
        onChange={(role) => change({ role })}
      />
      <TextField
        label="What it is for"
        value={draft.description}
        onChange={(description) => change({ description })}
      />
      <TextField
        label="Model"
        required
        value={draft.model_id}
        onChange={(model_id) => change({ model_id })}
      />
      <TextArea
        label="Instructions"
        value={draft.system_prompt}
        onChange={(system_prompt) => change({ system_prompt })}
      />
      <LimitFields draft={draft} change={change} />
    </>
  )
}

function LimitFields(props: {
  readonly draft: typeof NEW
  readonly change: (part: Partial<typeof NEW>) => void
}) {
  const { draft, change } = props
  return (
    <>
      {LINES.map(([name, label, hint]) => (
        <TextField
          key={name}
          label={label}
          hint={`${hint}; separated by commas`}
          value={draft[name]}
          onChange={(value) => change({ [name]: value })}
        />
      ))}
      {NUMBERS.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          hint="Empty: as it is, or the default"
          type="number"
          step="any"
          min={0}
          value={draft[name]}
          onChange={(value) => change({ [name]: value })}
        />
      ))}
    </>
  )
}
