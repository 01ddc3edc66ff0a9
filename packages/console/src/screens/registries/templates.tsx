// Templates of world models. A dry run shows what would be registered.

import { templatesInstall, templatesList } from '@custos/client/operations'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { counted } from '../../parts/display.tsx'
import { Form, SelectField } from '../../parts/form.tsx'
import { ErrorState, LoadingState } from '../../parts/states.tsx'

export function Templates() {
  const { can } = useSession()
  const [open, setOpen] = useState(false)
  if (!can('artifacts:admin')) return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>Install a template</Button>
      <Dialog title="Install a template" open={open} onClose={() => setOpen(false)}>
        <InstallForm />
      </Dialog>
    </>
  )
}

function InstallForm() {
  const { data, error } = useCall(templatesList, [{ limit: 50 }])
  const [chosen, setChosen] = useState('')
  const install = useAction(templatesInstall)
  if (error) return <ErrorState error={error} />
  if (!data) return <LoadingState />
  const template = data.templates.find(({ id }) => id === chosen) ?? data.templates[0]
  if (!template) return <p>This service has no templates.</p>
  const run = (dry_run: boolean) => install.mutate([{ template_id: template.id, dry_run }])
  const result = install.data?.data
  return (
    <Form onSubmit={() => run(false)}>
      <SelectField
        label="Template"
        value={template.id}
        options={data.templates.map((one) => [one.id, `${one.name} ${one.version}`] as const)}
        onChange={(id) => {
          setChosen(id)
          install.reset()
        }}
      />
      <p>{template.description}</p>
      {install.error && <ErrorState error={install.error} />}
      {result && (
        <p role="status">
          {result.dry_run ? 'It would register ' : 'Registered: '}
          {counted(result.installed.length, 'type')}. Exist already: {result.already_there.length}.
          In conflict: {result.conflicts.length}.
        </p>
      )}
      <div>
        <Button busy={install.isPending} onClick={() => run(true)}>
          Dry run
        </Button>{' '}
        <Button type="submit" kind="primary" busy={install.isPending}>
          Install
        </Button>
      </div>
    </Form>
  )
}
