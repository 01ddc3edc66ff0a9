// The form of a new policy, or of a change that adds a version.

import {
  governanceCreatePolicy,
  governancePolicyTypes,
  governanceUpdatePolicy,
} from '@custos/client/operations'
import type { GovernancePolicyTypesReply, Policy, PolicyAction } from '@custos/client/types'
import { useState } from 'react'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { inWords } from '../../parts/display.tsx'
import { CheckField, Form, SelectField, TextField } from '../../parts/form.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'
import { type ConfigDraft, ConfigFields, configOf, draftOf } from './config-fields.tsx'

type TypeEntry = GovernancePolicyTypesReply['types'][number]

export function PolicyForm(props: {
  /** The policy to change; absent for a new one. */
  readonly policy?: Policy
  readonly onDone: (policyId: string) => void
}) {
  const { data, error } = useCall(governancePolicyTypes, [])
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  return <PolicyFields {...props} types={data.types} />
}

/** The values of the fields. */
interface PolicyDraft {
  readonly name: string
  readonly description: string
  readonly action: PolicyAction
  readonly priority: string
  readonly enabled: boolean
  readonly config: ConfigDraft
}

function firstDraft(entry: TypeEntry | undefined, policy: Policy | undefined): PolicyDraft {
  return {
    name: policy?.name ?? '',
    description: policy?.description ?? '',
    action: policy?.action ?? entry?.default_action ?? 'deny',
    priority: policy ? String(policy.priority) : '',
    enabled: policy?.enabled ?? true,
    config: policy && entry ? draftOf(entry.config_schema, policy.config) : {},
  }
}

function PolicyFields(
  props: Parameters<typeof PolicyForm>[0] & { readonly types: readonly TypeEntry[] },
) {
  const { policy, onDone, types } = props
  const [type, setType] = useState(policy?.policy_type ?? types[0]?.type ?? 'rate_limit')
  const entry = types.find((one) => one.type === type)
  const [draft, setDraft] = useState(() => firstDraft(entry, policy))
  const [error, setError] = useState<unknown>(null)
  const create = useAction(governanceCreatePolicy)
  const update = useAction(governanceUpdatePolicy)
  const change = (part: Partial<PolicyDraft>) => setDraft({ ...draft, ...part })
  const choose = (next: string) => {
    const chosen = types.find((one) => one.type === next)
    if (!chosen) return
    setType(chosen.type)
    change({ config: {}, action: chosen.default_action })
  }
  const submit = async () => {
    setError(null)
    try {
      const { name, description, action, enabled } = draft
      const body = {
        ...{ name, description, action, enabled },
        ...(draft.priority === '' ? {} : { priority: Number(draft.priority) }),
        config: configOf(entry?.config_schema ?? {}, draft.config),
      }
      const saved = policy
        ? await update.mutateAsync([policy.policy_id, body])
        : await create.mutateAsync([{ ...body, policy_type: type }])
      onDone(saved.policy_id)
    } catch (caught) {
      setError(caught)
    }
  }
  return (
    <Form onSubmit={submit} label={policy ? 'Change the policy' : 'New policy'}>
      {!policy && (
        <SelectField
          label="Type"
          hint={entry?.description}
          value={type}
          onChange={choose}
          options={types.map((one) => [one.type, inWords(one.type)])}
        />
      )}
      <RuleFields draft={draft} change={change} entry={entry} />
      {error !== null && <ErrorState error={error} />}
      <Button type="submit" kind="primary" busy={create.isPending || update.isPending}>
        {policy ? 'Save as a new version' : 'Create policy'}
      </Button>
    </Form>
  )
}

function RuleFields(props: {
  readonly draft: PolicyDraft
  readonly change: (part: Partial<PolicyDraft>) => void
  readonly entry: TypeEntry | undefined
}) {
  const { draft, change, entry } = props
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={200}
        value={draft.name}
        onChange={(name) => change({ name })}
      />
      <TextField
        label="What it is for"
        maxLength={2_000}
        value={draft.description}
        onChange={(description) => change({ description })}
      />
      <ConfigFields
        schema={entry?.config_schema ?? {}}
        draft={draft.config}
        onChange={(config) => change({ config })}
      />
      <SelectField
        label="When a request violates it"
        hint="“log only” refuses nothing and records what it would have done: a trial"
        value={draft.action}
        onChange={(action) =>
          change({ action: entry?.actions.find((one) => one === action) ?? draft.action })
        }
        options={(entry?.actions ?? []).map((action) => [action, inWords(action)])}
      />
      <TextField
        label="Priority"
        hint="Lower values are evaluated first"
        type="number"
        step={1}
        value={draft.priority}
        onChange={(priority) => change({ priority })}
      />
      <CheckField
        label="Enabled"
        checked={draft.enabled}
        onChange={(enabled) => change({ enabled })}
      />
    </>
  )
}
