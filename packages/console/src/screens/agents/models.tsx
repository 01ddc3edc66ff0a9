// Providers of models: address, prices and a key that is stored sealed.

import { llmCreateProvider, llmDeleteProvider, llmListProviders } from '@custos/client/operations'
import type { LlmCreateProviderBody, ModelProvider } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useAction, useList, usePage } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { formatNumber, Pill } from '../../parts/display.tsx'
import { CheckField, Form, SelectField, TextField } from '../../parts/form.tsx'
import { EmptyState, ErrorState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import css from './agents.module.css'

const KINDS = [
  ['openai', 'Chat completions, as OpenAI and compatible services'],
  ['anthropic', 'Messages, as Anthropic'],
] as const

const COLUMNS: readonly Column<ModelProvider>[] = [
  { id: 'model', header: 'Model', cell: ({ model_id: model }) => model },
  { id: 'kind', header: 'Form', cell: ({ provider }) => provider },
  { id: 'url', header: 'Address', grow: true, cell: ({ base_url: url }) => url },
  { id: 'key', header: 'Key', cell: ({ api_key_set: set }) => (set ? 'stored' : 'none') },
  {
    id: 'prices',
    header: 'Price in / out',
    numeric: true,
    cell: (row) => `${formatNumber(row.price_in_micro)} / ${formatNumber(row.price_out_micro)}`,
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ enabled }) => (
      <Pill tone={enabled ? 'good' : 'plain'}>{enabled ? 'enabled' : 'disabled'}</Pill>
    ),
  },
  {
    id: 'created',
    header: 'Created (UTC)',
    optional: true,
    cell: ({ created_at }) => <Time value={created_at} />,
  },
  { id: 'acts', header: '', cell: (row) => <Acts provider={row} /> },
]

export function Models() {
  const name = 'models_'
  const [adding, setAdding] = useState(false)
  const list = useList(llmListProviders, [usePage(name)], ({ providers }) => providers)
  return (
    <>
      <div className={css['acts']}>
        <Button icon={Plus} onClick={() => setAdding(true)}>
          Configure a model
        </Button>
      </div>
      <Table
        name={name}
        label="Models"
        list={list}
        columns={COLUMNS}
        rowId={({ model_id }) => model_id}
        empty={<EmptyState title="No models configured" />}
      />
      <Dialog title="Configure a model" open={adding} onClose={() => setAdding(false)}>
        <ModelForm done={() => setAdding(false)} />
      </Dialog>
    </>
  )
}

function Acts({ provider }: { readonly provider: ModelProvider }) {
  const [asked, setAsked] = useState<'change' | 'delete' | null>(null)
  const remove = useAction(llmDeleteProvider)
  const close = () => setAsked(null)
  const { model_id: model } = provider
  return (
    <span className={css['acts']}>
      <Button aria-label={`Change the model ${model}`} onClick={() => setAsked('change')}>
        Change
      </Button>
      <Button
        kind="danger"
        aria-label={`Delete the model ${model}`}
        onClick={() => setAsked('delete')}
      >
        Delete
      </Button>
      <Dialog title="Change the model" open={asked === 'change'} onClose={close}>
        <ModelForm provider={provider} done={close} />
      </Dialog>
      <ConfirmDialog
        title="Delete the model"
        open={asked === 'delete'}
        onClose={close}
        verb="Delete"
        act={() => remove.mutateAsync([model])}
      >
        <p className={css['words']}>The next step that asks {model} fails. Its key is destroyed.</p>
      </ConfirmDialog>
    </span>
  )
}

const draftOf = (provider: ModelProvider | undefined) => ({
  model: provider?.model_id ?? '',
  url: provider?.base_url ?? '',
  key: '',
  priceIn: String(provider?.price_in_micro ?? 0),
  priceOut: String(provider?.price_out_micro ?? 0),
})

const PRICES = [
  ['priceIn', 'Price of a million tokens of the prompt'],
  ['priceOut', 'Price of a million tokens of the answer'],
] as const

/** The form of a provider, or of a new one if `provider` is absent. */
function ModelForm({ provider, done }: { provider?: ModelProvider; done: () => void }) {
  const [kind, setKind] = useState<ModelProvider['provider']>(provider?.provider ?? 'openai')
  const [draft, setDraft] = useState(() => draftOf(provider))
  const [enabled, setEnabled] = useState(provider?.enabled ?? true)
  const create = useAction(llmCreateProvider)
  const submit = async () => {
    const { model, url, key, priceIn, priceOut } = draft
    const body: LlmCreateProviderBody = {
      provider: kind,
      model_id: model,
      base_url: url === '' ? null : url,
      api_key: key === '' ? null : key,
      price_in_micro: Number(priceIn),
      price_out_micro: Number(priceOut),
      enabled,
    }
    await create.mutateAsync([body])
    done()
  }
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form label="Provider of a model" onSubmit={() => submit().catch(() => undefined)}>
      <SelectField
        label="Form of requests"
        value={kind}
        options={KINDS}
        onChange={(value) => setKind(value === 'anthropic' ? 'anthropic' : 'openai')}
      />
      <ModelFields
        provider={provider}
        draft={draft}
        change={(part) => setDraft({ ...draft, ...part })}
      />
      <CheckField label="Runs may ask it" checked={enabled} onChange={setEnabled} />
      {create.error && <ErrorState error={create.error} />}
      <Button type="submit" kind="primary" busy={create.isPending}>
        Save
      </Button>
    </Form>
  )
}

function ModelFields(props: {
  readonly provider: ModelProvider | undefined
  readonly draft: ReturnType<typeof draftOf>
  readonly change: (part: Partial<ReturnType<typeof draftOf>>) => void
}) {
  const { provider, draft, change } = props
  return (
    <>
      <TextField
        label="Model"
        hint="As agents and the provider name it"
        required
        readOnly={provider !== undefined}
        value={draft.model}
        onChange={(model) => change({ model })}
      />
      <TextField
        label="Address"
        hint="https://…; empty: that of the provider"
        value={draft.url}
        onChange={(url) => change({ url })}
      />
      <TextField
        label="Key"
        hint={
          provider?.api_key_set
            ? 'Give it again: what is saved here replaces the stored one'
            : 'Stored sealed and never shown'
        }
        type="password"
        autoComplete="off"
        required={provider?.api_key_set ?? false}
        value={draft.key}
        onChange={(key) => change({ key })}
      />
      {PRICES.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          hint="In millionths of the currency"
          type="number"
          min={0}
          required
          value={draft[name]}
          onChange={(value) => change({ [name]: value })}
        />
      ))}
    </>
  )
}
